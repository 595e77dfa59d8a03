// Package crds keeps the API packages of foreign resources in go.mod, for controller-gen to read.
package crds

import _ "github.com/fluxcd/helm-controller/api/v2"
