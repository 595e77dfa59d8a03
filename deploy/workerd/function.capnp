# What both configurations share: the function as `npm run build` bundles it, its settings, and where it listens.

using Workerd = import "/workerd/workerd.capnp";

# Plain HTTP, and passwords pass here: whatever ends TLS for the callers stands in front, on this machine.
const loopback :Workerd.Socket = (name = "http", address = "127.0.0.1:8080", http = (), service = "mintonce");

const function :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "../../dist/worker.js")],
  # As in wrangler.toml.
  compatibilityDate = "2026-07-30",
  compatibilityFlags = ["enable_request_signal", "nodejs_compat", "no_nodejs_compat_v2"],
  bindings = [
    (name = "KUBE", service = "kube"),
    # Read once, when workerd starts. What is not set keeps its default, and a name that is not here is not seen.
    (name = "KUBE_TOKEN", fromEnvironment = "KUBE_TOKEN"),
    (name = "MINTONCE_API_GROUP", fromEnvironment = "MINTONCE_API_GROUP"),
    (name = "MINTONCE_AUDIENCES", fromEnvironment = "MINTONCE_AUDIENCES"),
    (name = "MINTONCE_AUTHENTICATION_CONFIG", fromEnvironment = "MINTONCE_AUTHENTICATION_CONFIG"),
    (name = "MINTONCE_KEY_SET_URLS", fromEnvironment = "MINTONCE_KEY_SET_URLS"),
    (name = "MINTONCE_CLOCK_TOLERANCE_SECONDS", fromEnvironment = "MINTONCE_CLOCK_TOLERANCE_SECONDS"),
    (name = "MINTONCE_DEADLINE_SECONDS", fromEnvironment = "MINTONCE_DEADLINE_SECONDS"),
    (name = "MINTONCE_KUBE_TIMEOUT_SECONDS", fromEnvironment = "MINTONCE_KUBE_TIMEOUT_SECONDS"),
    (name = "MINTONCE_DEFINITIONS_MAX_AGE_SECONDS", fromEnvironment = "MINTONCE_DEFINITIONS_MAX_AGE_SECONDS"),
    (name = "MINTONCE_GRACE_SECONDS", fromEnvironment = "MINTONCE_GRACE_SECONDS"),
    (name = "MINTONCE_EVENTS_KEYS", fromEnvironment = "MINTONCE_EVENTS_KEYS"),
    (name = "MINTONCE_EVENTS_AUDIENCE", fromEnvironment = "MINTONCE_EVENTS_AUDIENCE"),
    (name = "MINTONCE_EVENTS_SENDERS", fromEnvironment = "MINTONCE_EVENTS_SENDERS"),
    (name = "MINTONCE_FLUX_KEYS", fromEnvironment = "MINTONCE_FLUX_KEYS"),
    (name = "MINTONCE_TRUST_ANCHORS", fromEnvironment = "MINTONCE_TRUST_ANCHORS"),
    (name = "MINTONCE_TRUST_ANCHOR_LABELS", fromEnvironment = "MINTONCE_TRUST_ANCHOR_LABELS"),
    (name = "MINTONCE_TRUST_ANCHOR_NAMES", fromEnvironment = "MINTONCE_TRUST_ANCHOR_NAMES"),
    (name = "MINTONCE_LOG_LEVEL", fromEnvironment = "MINTONCE_LOG_LEVEL"),
  ]
);
