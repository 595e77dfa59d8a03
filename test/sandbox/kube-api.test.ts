import { testSandbox } from './fixture.ts'
import { kubeApi } from './kube-api.ts'

kubeApi('the sandbox as a Kubernetes API', async () => {
  const sandbox = testSandbox()
  return {
    admin: sandbox.admin,
    as: (username) => sandbox.fetchAs({ username, groups: [] }),
    stop: async () => {},
  }
})
