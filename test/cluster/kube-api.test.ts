import { startControlPlane } from '../control-plane/start.ts'
import { kubeApi } from '../sandbox/kube-api.ts'

kubeApi('kube-apiserver', async () => {
  const { adminFetch, stop } = await startControlPlane()
  return {
    admin: adminFetch,
    as: (username) => (request) => {
      const headers = new Headers(request.headers)
      headers.set('Impersonate-User', username)
      return adminFetch(new Request(request, { headers }))
    },
    stop,
  }
})
