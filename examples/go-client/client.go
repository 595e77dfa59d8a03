package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// Issued is what a mint or a revoke answers.
type Issued struct {
	Username string `json:"username"`
	// Password is shown this once, and empty after a revoke.
	Password string    `json:"password,omitempty"`
	IssuedAt time.Time `json:"issuedAt"`
}

// ErrUnknown says that a password may have been stored that nobody has seen: mint again, the newest one counts.
var ErrUnknown = errors.New("nobody knows whether it was stored")

// Client calls the function in one namespace.
type Client struct {
	rest      rest.Interface
	namespace string
}

// NewClient needs a config for kube-apiserver, behind whose aggregation layer the function serves the group.
func NewClient(config *rest.Config, group, namespace string) (*Client, error) {
	config = rest.CopyConfig(config)
	config.APIPath = "/apis"
	config.GroupVersion = &schema.GroupVersion{Group: group, Version: "v1alpha1"}
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	config.ContentType = "application/json"
	// A mint may take as long as the aggregation layer waits for it.
	config.Timeout = 65 * time.Second
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	// Whoever answers 307 would have the request, and what it asks for, sent again.
	httpClient.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client, err := rest.RESTClientForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, err
	}
	return &Client{rest: client, namespace: namespace}, nil
}

// Mint replaces the password of a Credential (RELEASE.ACCOUNT) and answers the new one.
func (c *Client) Mint(ctx context.Context, name string) (*Issued, error) {
	return c.issue(ctx, name, "mint")
}

// Revoke replaces it by one that nobody knows.
func (c *Client) Revoke(ctx context.Context, name string) (*Issued, error) {
	return c.issue(ctx, name, "revoke")
}

func (c *Client) issue(ctx context.Context, name, verb string) (*Issued, error) {
	// client-go says the same of them, and one could not tell it from a call that was sent.
	for _, segment := range []string{c.namespace, name} {
		if problems := rest.IsValidPathSegmentName(segment); segment == "" || len(problems) > 0 {
			return nil, fmt.Errorf("%q is no name, and nothing was sent: %s", segment, strings.Join(problems, ", "))
		}
	}
	var code int
	// MaxRetries: by itself client-go repeats a POST that is answered 429 or 5xx with Retry-After, and a repeated mint is
	// another mint. The body is never empty: the aggregation layer repeats a request without one.
	result := c.rest.Post().
		Namespace(c.namespace).
		Resource("credentials").Name(name).SubResource(verb).
		Body([]byte(`{"kind":"CredentialRequest"}`)).
		MaxRetries(0).
		Do(ctx).
		StatusCode(&code)
	// Error reads the Status that an answer holds. Raw does not.
	if err := result.Error(); err != nil {
		return nil, explain(code, err)
	}
	body, err := result.Raw()
	if err != nil {
		return nil, explain(code, err)
	}
	var answer struct {
		Status Issued `json:"status"`
	}
	// The error of a parser may quote what it could not read.
	if json.Unmarshal(body, &answer) != nil || code != http.StatusCreated || answer.Status.Username == "" {
		return nil, fmt.Errorf("%w: the answer (%d) is none of the function", ErrUnknown, code)
	}
	return &answer.Status, nil
}

// explain tells apart what was refused or never sent, and what may have happened. A Status below 500 says that nothing was
// stored.
func explain(code int, err error) error {
	var status apierrors.APIStatus
	if errors.As(err, &status) && code >= 400 && code < 500 {
		return err
	}
	var network *net.OpError
	if errors.As(err, &network) && network.Op == "dial" {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnknown, err)
}
