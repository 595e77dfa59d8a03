// Mints or revokes a password as whom the kubeconfig says you are, or in a pod as its ServiceAccount.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/client-go/tools/clientcmd"
)

// main ends with 1 when nothing was stored, and with 2 when nobody knows.
func main() {
	group := flag.String("group", "credentials.cozystack.io", "the API group that the cluster serves")
	namespace := flag.String("n", "", "the namespace; without it that of the kubeconfig")
	kubeconfig := flag.String("kubeconfig", "", "its path; without it $KUBECONFIG, or the pod's ServiceAccount")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: go-client [flags] mint|revoke RELEASE.ACCOUNT")
		flag.PrintDefaults()
	}
	// By itself it would end with 2 for what it cannot read.
	flag.CommandLine.Init(os.Args[0], flag.ContinueOnError)
	if err := flag.CommandLine.Parse(os.Args[1:]); err != nil {
		os.Exit(1)
	}
	verb, name := flag.Arg(0), flag.Arg(1)
	if flag.NArg() != 2 || (verb != "mint" && verb != "revoke") {
		flag.Usage()
		os.Exit(1)
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
		if errors.Is(err, ErrUnknown) {
			os.Exit(2)
		}
		os.Exit(1)
	}
	// Standard output has the password, and nothing else has it.
	if err := json.NewEncoder(os.Stdout).Encode(issued); err != nil {
		fmt.Fprintln(os.Stderr, "the password is lost, mint again:", err)
		os.Exit(2)
	}
}

func connect(kubeconfig, group, namespace string) (*Client, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{})
	named := cmp.Or(kubeconfig, os.Getenv(clientcmd.RecommendedConfigPathEnvVar))
	if named != "" {
		file, err := rules.Load()
		if err != nil {
			return nil, err
		}
		// Whoever names one does not want to be the pod's ServiceAccount when it is not there, or empty.
		loaded = clientcmd.NewNonInteractiveClientConfig(*file, "", &clientcmd.ConfigOverrides{}, rules)
	}
	config, err := loaded.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cmp.Or(named, "no kubeconfig, and no ServiceAccount"), err)
	}
	if namespace == "" {
		if namespace, _, err = loaded.Namespace(); err != nil {
			return nil, err
		}
	}
	return NewClient(config, group, namespace)
}
