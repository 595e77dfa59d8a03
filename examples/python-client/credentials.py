"""Mints and revokes passwords as whom the kubeconfig says you are, or in a pod as its ServiceAccount."""

import argparse
import json
import logging
import os
import re
import sys
from dataclasses import asdict, dataclass
from typing import NoReturn, Optional

import urllib3
import yaml
from kubernetes import client, config

# A mint may take as long as the aggregation layer waits for it.
TIMEOUT_SECONDS = 65

NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")

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


class NotSent(Exception):
    """Nobody was asked, so nothing was stored: the message says what is missing."""


class Unknown(Exception):
    """A password may have been stored that nobody has seen: mint again, the newest one counts."""


def connect(kubeconfig: Optional[str] = None) -> client.ApiClient:
    """Talks to kube-apiserver, behind whose aggregation layer the function serves its group."""
    configuration = client.Configuration()
    # Whoever names a kubeconfig does not want to be the pod's ServiceAccount when it cannot be read.
    named = kubeconfig or os.environ.get("KUBECONFIG")
    try:
        if named or os.path.exists(os.path.expanduser("~/.kube/config")):
            config.load_kube_config(config_file=named, client_configuration=configuration)
        else:
            config.load_incluster_config(client_configuration=configuration)
    except config.ConfigException as error:
        raise NotSent(f"{named or 'no kubeconfig'}: {error}") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, yaml.YAMLError) as error:
        # Its words may quote the file, which has tokens and keys.
        raise NotSent(f"{named or 'the kubeconfig'} cannot be read: {type(error).__name__}") from None
    # Whatever urllib3 would repeat: a repeated mint is another mint.
    configuration.retries = urllib3.Retry(total=False, redirect=False)
    return client.ApiClient(configuration)


def issue(api: client.ApiClient, group: str, namespace: str, name: str, verb: str) -> Issued:
    """Sends one request, once. `name` is RELEASE.ACCOUNT, `verb` is mint or revoke."""
    for segment in (namespace, name):
        # A path is made of them.
        if not NAME.fullmatch(segment):
            raise NotSent(f"{segment!r} is no name")
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
    except (urllib3.exceptions.NewConnectionError, urllib3.exceptions.ConnectTimeoutError) as error:
        raise NotSent(f"{verb} of {name}: {type(error).__name__}") from None
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


class Parser(argparse.ArgumentParser):
    """Ends with 1 for what it cannot read: 2 is for what may have been stored."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(1, f"{self.prog}: {message}\n")


def main() -> int:
    """Ends with 1 when nothing was stored, and with 2 when nobody knows."""
    parser = Parser(description=__doc__)
    parser.add_argument("verb", choices=["mint", "revoke"])
    parser.add_argument("name", metavar="RELEASE.ACCOUNT")
    parser.add_argument("-n", "--namespace", required=True)
    parser.add_argument("--group", default="credentials.cozystack.io")
    parser.add_argument("--kubeconfig")
    args = parser.parse_args()
    try:
        issued = issue(connect(args.kubeconfig), args.group, args.namespace, args.name, args.verb)
    except (Refused, NotSent) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    except Unknown as error:
        print(f"Unknown: {error}", file=sys.stderr)
        return 2
    # Standard output has the password, and nothing else has it.
    print(json.dumps({key: value for key, value in asdict(issued).items() if value is not None}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
