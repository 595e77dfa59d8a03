# The worker on a machine of your own, in workerd; docs/worker.md walks through it. Who the function is says the variable
# KUBE_TOKEN. The CA of the Kubernetes API is the file ca.crt beside this one.
#
#   workerd serve -e kube=HOST:PORT config.capnp      (no https:// before HOST)

using Workerd = import "/workerd/workerd.capnp";
using import "function.capnp".function;
using import "function.capnp".loopback;

const config :Workerd.Config = (
  services = [
    (name = "mintonce", worker = .function),
    (name = "kube", external = (
      address = "kubernetes.default.svc:443",
      # Whatever the address is, the certificate of an API server has this name.
      https = (
        certificateHost = "kubernetes.default.svc",
        tlsOptions = (trustedCertificates = [embed "ca.crt"])
      )
    )),
  ],
  sockets = [.loopback]
);
