import { textAt } from '../../core/json.ts'
import { ok, type Result } from '../../core/result.ts'
import { mysqlNative } from '../../formats/mysql-native.ts'
import type { Pod } from '../../k8s/conversion-kube.ts'
import type { ExecAnswer, ExecTarget } from '../../k8s/exec-in-pod.ts'
import { listAll } from '../../k8s/list-all.ts'
import type { OwnerReference } from '../../k8s/objects.ts'
import type { Passwords, ReleaseTarget, RotationServices } from './rotator.ts'

/** What mariadb-operator puts on the pods of a MariaDB (`pkg/builder/labels/labels.go`), which has the release's name. */
const selectorOf = (release: string): string =>
  `app.kubernetes.io/name=mariadb,app.kubernetes.io/instance=${release}`
const ROLE_LABEL = 'k8s.mariadb.com/role'
const CONTAINER = 'mariadb'

/**
 * The client of the image, by its socket. The first line of the input is the password as an option file has it, and the
 * rest is SQL. The shell takes the line by a builtin (`read` leaves the rest: POSIX) and hands it to the client through a
 * pipe, as an option file of its own: it stands in no command line, no environment and no file.
 */
const SCRIPT = `IFS= read -r given || exit 64
exec 4<&0
printf '[client]\\npassword=%s\\n' "$given" | {
  exec 3<&0 0<&4 4<&-
  exec mariadb --defaults-extra-file=/dev/fd/3 --user=root --connect-timeout=10 --batch --skip-column-names
}`

const LOGIN = 'SELECT CURRENT_USER();'
/** What the server says to it, and a client that is none does not. */
const LOGGED_IN = /^root@\S+\s*$/

/** Of every root that has a password, whatever host it comes from. The engine's logs see the hash at most. */
const alterTo = (hash: string): string => `SET @alter = (
  SELECT CONCAT('ALTER USER ', GROUP_CONCAT(QUOTE(User), '@', QUOTE(Host), ' IDENTIFIED BY PASSWORD ''${hash}'''))
  FROM mysql.global_priv
  WHERE User = 'root' AND COALESCE(JSON_VALUE(Priv, '$.authentication_string'), '') NOT IN ('', 'invalid')
);
EXECUTE IMMEDIATE @alter;`

/** `root` of MariaDB: by `ALTER USER` in the primary, with whichever of the known passwords it takes. */
export async function changeMariadbRoot(
  services: RotationServices,
  { namespace, release }: ReleaseTarget,
  { pending, known }: Passwords,
): Promise<Result<string | undefined>> {
  const pods = await podsOf(services, { namespace, release })
  if (!pods.ok) return pods
  const pod = primaryOf(pods.value)
  if (pod === undefined) return ok('no pod of it is the one primary')
  const target = { namespace, pod, container: CONTAINER, command: ['sh', '-c', SCRIPT] }
  const run = (password: string, sql: string) => ask(services, target, { password, sql })
  const login = () => ask(services, target, { password: pending, sql: LOGIN, says: LOGGED_IN })

  const before = await login()
  if (!before.ok) return before
  if (before.value !== 'denied') return ok(problemIn(before.value))
  const hash = await mysqlNative.derive({ username: 'root', password: pending }, services.deps)
  const altered = await firstTaken(known, (password) => run(password, alterTo(hash)))
  if (!altered.ok) return altered
  if (altered.value !== 'done' && altered.value !== 'denied') return ok(problemIn(altered.value))
  // Also when it took none of them: another run may have been faster.
  const after = await login()
  if (!after.ok) return after
  if (after.value !== 'denied') return ok(problemIn(after.value))
  return ok(
    altered.value === 'done'
      ? 'it does not take the password that it was given'
      : 'it takes neither the password of the Secret nor the pending one',
  )
}

type Said = 'done' | 'denied' | { readonly problem: string }

const problemIn = (said: Said): string | undefined => (typeof said === 'string' ? undefined : said.problem)

async function firstTaken(
  passwords: readonly string[],
  run: (password: string) => Promise<Result<Said>>,
): Promise<Result<Said>> {
  for (const password of passwords) {
    const said = await run(password)
    if (!said.ok || said.value !== 'denied') return said
  }
  return ok('denied')
}

async function podsOf(
  { conversionKube }: RotationServices,
  { namespace, release }: ReleaseTarget,
): Promise<Result<readonly Pod[]>> {
  return listAll(
    (page) => conversionKube.listPods(namespace, page),
    { labelSelector: selectorOf(release) },
    (pod) => (pod.metadata.deletionTimestamp === undefined && isMember(pod, release) ? pod : undefined),
  )
}

/**
 * Whether the StatefulSet of the MariaDB, which has its name, has made this pod. Labels alone say nothing: whoever may
 * label a pod of theirs would be given the password (`pkg/statefulset/statefulset.go` of mariadb-operator, PodName;
 * `k8s.io/kubernetes/pkg/controller/statefulset/stateful_set_utils.go`, getPodName).
 */
function isMember({ metadata: { name, ownerReferences } }: Pod, release: string): boolean {
  const isNumbered = name.startsWith(`${release}-`) && /^\d+$/.test(name.slice(release.length + 1))
  const owners = Array.isArray(ownerReferences) ? ownerReferences : []
  return isNumbered && owners.some((owner) => owner.controller === true && isStatefulSet(owner, release))
}

const isStatefulSet = (owner: OwnerReference, name: string): boolean =>
  owner.apiVersion === 'apps/v1' && owner.kind === 'StatefulSet' && owner.name === name

/** The operator labels a pod when it is ready; of one that stands alone the label may be missing. */
function primaryOf(pods: readonly Pod[]): string | undefined {
  const roleOf = ({ metadata }: Pod) => textAt(metadata.labels, ROLE_LABEL)
  const primaries = pods.filter((pod) => roleOf(pod) === 'primary')
  const [pod, second] = primaries.length > 0 || pods.some((each) => roleOf(each)) ? primaries : pods
  return second === undefined ? pod?.metadata.name : undefined
}

async function ask(
  { exec }: RotationServices,
  target: ExecTarget,
  { password, sql, says }: { readonly password: string; readonly sql: string; readonly says?: RegExp },
): Promise<Result<Said>> {
  // \q: over an older protocol the input never ends.
  const stdin = `${quoted(password)}\n${sql}\n\\q\n`
  const answer = await exec(target, stdin)
  if (!answer.ok) return answer
  const said = saidBy(answer.value)
  const isAnswer = said !== 'done' || says === undefined || says.test(answer.value.stdout)
  return ok(isAnswer ? said : { problem: 'its client says something else than it was asked' })
}

/** What the client complains of may quote a statement: its number is all that is told. */
function saidBy({ exitCode, stderr }: ExecAnswer): Said {
  if (exitCode === 0) return 'done'
  const [, number, state] = /^ERROR (\d+) \((\w{5})\)/m.exec(stderr) ?? []
  // Class 28 of SQLSTATE: invalid authorization.
  if (state === '28000') return 'denied'
  const error = number === undefined ? '' : `, error ${number}`
  return { problem: `its client ended with exit code ${exitCode}${error}` }
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '"': '\\"',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\b': '\\b',
}

/** A value of an option file (MariaDB, "Configuring MariaDB with Option Files", option values and escapes). */
const quoted = (text: string): string =>
  `"${Array.from(text, (character) => ESCAPES[character] ?? character).join('')}"`
