// Command flux-values composes the values of a HelmRelease as Flux's helm-controller does: with
// ChartValuesFromReferences of github.com/fluxcd/pkg/chartutil.
//
// It reads a JSON list of cases from standard input and writes a JSON list of answers, in the same order.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/chartutil"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

const namespace = "tenant"

// A composition is what a release takes its values from.
type composition struct {
	// Values is spec.values.
	Values map[string]any `json:"values"`
	// ValuesFrom is spec.valuesFrom.
	ValuesFrom []meta.ValuesReference `json:"valuesFrom"`
	// Secrets holds the data of the Secrets of the namespace, by name and key.
	Secrets map[string]map[string][]byte `json:"secrets"`
}

// An answer has either values or an error.
type answer struct {
	Values map[string]any `json:"values,omitempty"`
	Error  string         `json:"error,omitempty"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var compositions []composition
	if err := json.NewDecoder(os.Stdin).Decode(&compositions); err != nil {
		return fmt.Errorf("reading cases: %w", err)
	}
	answers := make([]answer, 0, len(compositions))
	for _, each := range compositions {
		answers = append(answers, compose(each))
	}
	return json.NewEncoder(os.Stdout).Encode(answers)
}

func compose(c composition) answer {
	builder := fake.NewClientBuilder()
	for name, data := range c.Secrets {
		builder = builder.WithObjects(&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Data:       data,
		})
	}
	values, err := chartutil.ChartValuesFromReferences(
		context.Background(), logr.Discard(), builder.Build(), namespace, c.Values, c.ValuesFrom...)
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Values: values}
}
