// Mints or revokes a password as whom the kubeconfig says you are, or in a pod as its ServiceAccount.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	group := flag.String("group", "credentials.cozystack.io", "the API group that the cluster serves")
	namespace := flag.String("n", "", "the namespace; without it that of the kubeconfig")
	kubeconfig := flag.String("kubeconfig", "", "its path; without it $KUBECONFIG, or the pod's ServiceAccount")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: go-client [flags] mint|revoke RELEASE.ACCOUNT")
		flag.PrintDefaults()
	}
	flag.Parse()
	verb, name := flag.Arg(0), flag.Arg(1)
	if flag.NArg() != 2 || (verb != "mint" && verb != "revoke") {
		flag.Usage()
		os.Exit(2)
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	client, err := connect(*kubeconfig, *group, *namespace)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	call := client.Mint
	if verb == "revoke" {
		call = client.Revoke
	}
	issued, err := call(ctx, name)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// Standard output has the password, and nothing else has it.
	if err := json.NewEncoder(os.Stdout).Encode(issued); err != nil {
		fmt.Fprintln(os.Stderr, "the password is lost, mint again:", err)
		os.Exit(1)
	}
}

func connect(kubeconfig, group, namespace string) (*Client, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{})
	config, err := loaded.ClientConfig()
	if err != nil {
		return nil, err
	}
	if namespace == "" {
		if namespace, _, err = loaded.Namespace(); err != nil {
			return nil, err
		}
	}
	return NewClient(config, group, namespace)
}
