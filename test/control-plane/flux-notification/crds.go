// Package crds keeps the API packages of foreign resources in go.mod, for controller-gen to read.
package crds

import _ "github.com/fluxcd/notification-controller/api/v1beta3"
