#!/bin/sh
# Mints, and puts what it gets into a Secret: as whom the kubeconfig says. Prints no password, and has none in its arguments.
set -eu

# Applies what it reads as the Secret's data, unless somebody else has written it since.
secret() {
  jq --arg name "$SECRET" --arg version "$version" '{
    apiVersion: "v1", kind: "Secret", type: "kubernetes.io/basic-auth",
    metadata: ({name: $name, resourceVersion: $version} | with_entries(select(.value != ""))),
    data: .
  }' | kubectl -n "$NAMESPACE" apply --server-side --field-manager=mint-into-secret -f - "$@"
}

# A mint whose password cannot be kept would cut off whoever logs in.
version=$(kubectl -n "$NAMESPACE" get secret "$SECRET" --ignore-not-found -o 'jsonpath={.metadata.resourceVersion}')
if [ -n "$version" ]; then
  echo '{"username": "", "password": ""}' | secret --dry-run=server > /dev/null
else
  version=$(echo '{"username": ""}' | secret -o 'jsonpath={.metadata.resourceVersion}')
fi

api=/apis/credentials.cozystack.io/v1alpha1/namespaces/$NAMESPACE/credentials
answer=$(echo '{"kind": "CredentialRequest"}' | kubectl create -f - --raw "$api/$CREDENTIAL/mint")
data=$(printf %s "$answer" | jq -c '.status | {username, password} |
  select(all(.[]; type == "string" and . != "")) | map_values(@base64)') || data=
[ -n "$data" ] || { echo 'no password came of the mint' >&2; exit 1; }
printf %s "$data" | secret
