# As config.capnp, but who the function is says a client certificate: client.crt and client.key, PEM, beside ca.crt.
#
#   workerd serve -e kube=HOST:PORT client-certificate.capnp      (no https:// before HOST)

using Workerd = import "/workerd/workerd.capnp";
using import "function.capnp".function;
using import "function.capnp".loopback;

const config :Workerd.Config = (
  services = [
    (name = "mintonce", worker = .function),
    (name = "kube", external = (
      address = "kubernetes.default.svc:443",
      https = (
        certificateHost = "kubernetes.default.svc",
        tlsOptions = (
          trustedCertificates = [embed "ca.crt"],
          keypair = (privateKey = embed "client.key", certificateChain = embed "client.crt")
        )
      )
    )),
  ],
  sockets = [.loopback]
);
