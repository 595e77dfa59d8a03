"""Mints and revokes passwords as whom the kubeconfig says you are, or in a pod as its ServiceAccount."""

import argparse
import json
import logging
import sys
from dataclasses import asdict, dataclass
from typing import Optional

import urllib3
from kubernetes import client, config

# A mint may take as long as the aggregation layer waits for it.
TIMEOUT_SECONDS = 65

# At DEBUG the package logs whole answers, and ours hold passwords.
logging.getLogger("kubernetes.client.rest").setLevel(logging.INFO)


@dataclass(frozen=True)
class Issued:
    """What a mint or a revoke answers. The password is shown this once, and None after a revoke."""

    username: str
    issuedAt: str
    password: Optional[str] = None


class Refused(Exception):
    """Nothing was stored: the message says why."""


class Unknown(Exception):
    """A password may have been stored that nobody has seen: mint again, the newest one counts."""


def connect(kubeconfig: Optional[str] = None) -> client.ApiClient:
    """Talks to kube-apiserver, behind whose aggregation layer the function serves its group."""
    configuration = client.Configuration()
    try:
        config.load_kube_config(config_file=kubeconfig, client_configuration=configuration)
    except config.ConfigException:
        config.load_incluster_config(client_configuration=configuration)
    # Whatever urllib3 would repeat: a repeated mint is another mint.
    configuration.retries = urllib3.Retry(total=False, redirect=False)
    return client.ApiClient(configuration)


def issue(api: client.ApiClient, group: str, namespace: str, name: str, verb: str) -> Issued:
    """Sends one request, once. `name` is RELEASE.ACCOUNT, `verb` is mint or revoke."""
    try:
        # CustomObjectsApi knows no subresources but status and scale.
        answer = api.call_api(
            f"/apis/{group}/v1alpha1/namespaces/{{namespace}}/credentials/{{name}}/{verb}",
            "POST",
            path_params={"namespace": namespace, "name": name},
            header_params={"Accept": "application/json", "Content-Type": "application/json"},
            # Never empty: the aggregation layer repeats a request without a body.
            body={"kind": "CredentialRequest"},
            auth_settings=["BearerToken"],
            response_type=None,
            _preload_content=False,
            _return_http_data_only=True,
            _request_timeout=TIMEOUT_SECONDS,
        )
        status = json.loads(answer.data)["status"]
        return Issued(status["username"], status["issuedAt"], status.get("password"))
    except client.ApiException as error:
        raise explain(error) from None
    except (urllib3.exceptions.HTTPError, ValueError, KeyError, TypeError) as error:
        # Its words may quote what came.
        raise Unknown(f"{verb} of {name}: {type(error).__name__}") from None


def explain(error: client.ApiException) -> Exception:
    """A Status below 500 says that nothing was stored."""
    try:
        status = json.loads(error.body)
        message = status["message"] if status["kind"] == "Status" else None
    except (ValueError, KeyError, TypeError):
        message = None
    if message is not None and 400 <= error.status < 500:
        return Refused(f"{error.status}: {message}")
    return Unknown(f"{error.status}: {message or error.reason}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("verb", choices=["mint", "revoke"])
    parser.add_argument("name", metavar="RELEASE.ACCOUNT")
    parser.add_argument("-n", "--namespace", required=True)
    parser.add_argument("--group", default="credentials.cozystack.io")
    parser.add_argument("--kubeconfig")
    args = parser.parse_args()
    try:
        issued = issue(connect(args.kubeconfig), args.group, args.namespace, args.name, args.verb)
    except (Refused, Unknown) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    # Standard output has the password, and nothing else has it.
    print(json.dumps({key: value for key, value in asdict(issued).items() if value is not None}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
