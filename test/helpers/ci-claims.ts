/** A system that runs pipelines, with the tokens of its jobs. */
export interface CiSystem {
  readonly issuer: string
  /** Where its discovery document says that the keys are. */
  readonly keys: string
  /** Of the job that the page lets in, as the system's documentation has them; times and `aud` come on signing. */
  readonly claims: Readonly<Record<string, unknown>>
  /** What the same claims are for jobs that are not let in, and the answer to them. */
  readonly others: readonly (readonly [
    who: string,
    claims: Readonly<Record<string, unknown>>,
    answer: 401 | 403,
  ])[]
}

/** https://docs.github.com/en/actions/reference/security/oidc, with an immutable subject. */
const github: CiSystem = {
  issuer: 'https://token.actions.githubusercontent.com',
  keys: 'https://token.actions.githubusercontent.com/.well-known/jwks',
  claims: {
    jti: '0e5a1c0c-6a3f-4d58-9f0e-4c53d0f1a6b7',
    sub: 'repo:octo-org@123456/octo-repo@456789:ref:refs/heads/main',
    ref: 'refs/heads/main',
    sha: '9f3182061f1e2cca4702c368cbc039b7dc9d4485',
    repository: 'octo-org/octo-repo',
    repository_id: '456789',
    repository_owner: 'octo-org',
    repository_owner_id: '123456',
    repository_visibility: 'private',
    run_id: '11847239456',
    run_number: '10',
    run_attempt: '1',
    actor: 'octocat',
    actor_id: '583231',
    workflow: 'mint',
    workflow_ref: 'octo-org/octo-repo/.github/workflows/mint.yml@refs/heads/main',
    workflow_sha: '9f3182061f1e2cca4702c368cbc039b7dc9d4485',
    job_workflow_ref: 'octo-org/octo-repo/.github/workflows/mint.yml@refs/heads/main',
    job_workflow_sha: '9f3182061f1e2cca4702c368cbc039b7dc9d4485',
    head_ref: '',
    base_ref: '',
    event_name: 'workflow_dispatch',
    ref_protected: 'true',
    ref_type: 'branch',
    runner_environment: 'github-hosted',
  },
  others: [
    [
      'another organization, which has the name of ours now',
      { repository_owner_id: '654321', sub: 'repo:octo-org@654321/octo-repo@987654:ref:refs/heads/main' },
      401,
    ],
    [
      'another repository',
      {
        repository: 'octo-org/other',
        repository_id: '456790',
        sub: 'repo:octo-org@123456/other@456790:ref:refs/heads/main',
      },
      403,
    ],
    [
      'another branch',
      { ref: 'refs/heads/feature', sub: 'repo:octo-org@123456/octo-repo@456789:ref:refs/heads/feature' },
      401,
    ],
    [
      'a tag',
      {
        ref: 'refs/tags/main',
        ref_type: 'tag',
        sub: 'repo:octo-org@123456/octo-repo@456789:ref:refs/tags/main',
      },
      401,
    ],
    [
      'a pull request',
      {
        ref: 'refs/pull/7/merge',
        head_ref: 'feature',
        base_ref: 'main',
        event_name: 'pull_request',
        sub: 'repo:octo-org@123456/octo-repo@456789:pull_request',
      },
      401,
    ],
    [
      'a pull request that runs on its base',
      { head_ref: 'feature', base_ref: 'main', event_name: 'pull_request_target' },
      401,
    ],
    [
      'a job with an environment, which is another subject',
      { environment: 'production', sub: 'repo:octo-org@123456/octo-repo@456789:environment:production' },
      403,
    ],
  ],
}

/** https://docs.gitlab.com/ci/secrets/id_token_authentication/ */
const gitlab: CiSystem = {
  issuer: 'https://gitlab.com',
  keys: 'https://gitlab.com/oauth/discovery/keys',
  claims: {
    namespace_id: '72',
    namespace_path: 'my-group',
    project_id: '20',
    project_path: 'my-group/my-project',
    user_id: '1',
    user_login: 'sample-user',
    user_email: 'sample-user@example.com',
    user_access_level: 'maintainer',
    user_identities: [{ provider: 'github', extern_uid: '2435223452345' }],
    job_project_id: '20',
    job_project_path: 'my-group/my-project',
    job_namespace_id: '72',
    job_namespace_path: 'my-group',
    pipeline_id: '574',
    pipeline_source: 'web',
    job_id: '302',
    ref: 'main',
    ref_type: 'branch',
    ref_path: 'refs/heads/main',
    ref_protected: 'true',
    runner_id: 1,
    runner_environment: 'self-hosted',
    sha: '714a629c0b401fdce83e847fc9589983fc6f46bc',
    project_visibility: 'private',
    ci_config_ref_uri: 'gitlab.com/my-group/my-project//.gitlab-ci.yml@refs/heads/main',
    ci_config_sha: '714a629c0b401fdce83e847fc9589983fc6f46bc',
    job_source: 'web',
    jti: '235b3a54-b797-45c7-ae9a-f72d7bc6ef5b',
    sub: 'project_path:my-group/my-project:ref_type:branch:ref:main',
  },
  others: [
    [
      'another group',
      {
        namespace_id: '73',
        namespace_path: 'other',
        project_path: 'other/my-project',
        sub: 'project_path:other/my-project:ref_type:branch:ref:main',
      },
      401,
    ],
    [
      'another project',
      {
        project_id: '21',
        project_path: 'my-group/other',
        sub: 'project_path:my-group/other:ref_type:branch:ref:main',
      },
      403,
    ],
    [
      'another branch',
      {
        ref: 'feature',
        ref_path: 'refs/heads/feature',
        ref_protected: 'false',
        sub: 'project_path:my-group/my-project:ref_type:branch:ref:feature',
      },
      401,
    ],
    [
      'another protected branch',
      {
        ref: 'release',
        ref_path: 'refs/heads/release',
        sub: 'project_path:my-group/my-project:ref_type:branch:ref:release',
      },
      403,
    ],
    [
      'a protected tag of the same name',
      {
        ref_type: 'tag',
        ref_path: 'refs/tags/main',
        sub: 'project_path:my-group/my-project:ref_type:tag:ref:main',
      },
      403,
    ],
    // As it was before 18.4, with the target's project in all claims.
    [
      'a merge request of a fork whose branch is called main',
      { pipeline_source: 'merge_request_event' },
      401,
    ],
  ],
}

/** https://buildkite.com/docs/agent/cli/reference/oidc, with the optional claim `organization_id`. */
const buildkite: CiSystem = {
  issuer: 'https://agent.buildkite.com',
  keys: 'https://agent.buildkite.com/.well-known/jwks',
  claims: {
    sub: 'organization:acme-inc:pipeline:super-duper-app:ref:refs/heads/main:commit:9f3182061f1e2cca4702c368cbc039b7dc9d4485:step:',
    organization_slug: 'acme-inc',
    organization_id: 'f892efa9-103e-4d28-97a1-3b8616a0994d',
    pipeline_slug: 'super-duper-app',
    build_number: 1,
    build_branch: 'main',
    build_commit: '9f3182061f1e2cca4702c368cbc039b7dc9d4485',
    step_key: null,
    job_id: '0184990a-477b-4fa8-9968-496074483cee',
    agent_id: '0184990a-4782-42b5-afc1-16715b10b8ff',
    build_source: 'webhook',
    runner_environment: 'buildkite-hosted',
  },
  others: [
    [
      'another organization, which has the slug of ours now',
      { organization_id: '0184990a-477b-4fa8-9968-496074483c77' },
      401,
    ],
    ['a job that has not asked for the claim', { organization_id: undefined }, 401],
    ['another pipeline', { pipeline_slug: 'other' }, 403],
    ['another branch, or a pull request of it', { build_branch: 'feature' }, 401],
    ['a pull request of a fork, with its prefix', { build_branch: 'mallory:main' }, 401],
    ['a build of any commit, started by hand', { build_source: 'ui' }, 401],
  ],
}

export const ciSystems = { github, gitlab, buildkite } as const
