/** Where kube-apiserver's webhooks are answered. */
export interface AdmissionConfig {
  readonly port: number
  /** PEM: with it only a client certificate of this CA is heard. */
  readonly clientCaFile: string | undefined
}

type Env = Readonly<Record<string, string | undefined>>

const PORT = 'MINTONCE_ADMISSION_PORT'
const CLIENT_CA_FILE = 'MINTONCE_ADMISSION_CLIENT_CA_FILE'

export const ADMISSION_VARIABLES: readonly string[] = [PORT, CLIENT_CA_FILE]

/** Undefined: webhooks are not answered. Each mistake is added to `problems`, by its variable. */
export function readAdmission(env: Env, problems: string[], hasTls: boolean): AdmissionConfig | undefined {
  const clientCaFile = env[CLIENT_CA_FILE] || undefined
  const text = env[PORT] || undefined
  if (text === undefined) {
    if (clientCaFile !== undefined) problems.push(`${CLIENT_CA_FILE}: must be set beside ${PORT}`)
    return undefined
  }
  const port = /^\d+$/.test(text) ? Number(text) : Number.NaN
  if (!(port <= 65_535)) problems.push(`${PORT}: must be a whole number from 0 to 65535`)
  if (!hasTls)
    problems.push(`${PORT}: needs MINTONCE_TLS_CERT_FILE: kube-apiserver calls webhooks over TLS only`)
  return { port, clientCaFile }
}
