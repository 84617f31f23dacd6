package workspace

import (
	"reflect"

	"github.com/rye-os/rye/workspace/internal/session"
)

// ProjectFileType returns the Go type of rye.yaml, for the description of its form.
func ProjectFileType() reflect.Type { return reflect.TypeFor[session.Project]() }

// CheckProjectFile reads the text of a rye.yaml, and returns the project's id. A text that breaks the format is
// fault.Malformed.
func CheckProjectFile(raw []byte) (project string, err error) {
	p, err := session.ParseProject(raw)
	if err != nil {
		return "", err
	}
	return p.Project, nil
}
