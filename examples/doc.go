// Package examples holds app.yaml files to read and to deploy; its test says
// that each of them is valid. No code belongs here.
package examples
