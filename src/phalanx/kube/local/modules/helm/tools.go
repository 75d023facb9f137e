//go:build tools

// Package tools names the command that is built here, so that go.mod and go.sum pin all it needs.
package tools

import _ "helm.sh/helm/v3/cmd/helm"
