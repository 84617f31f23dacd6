package session

import (
	"fmt"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// Checked is Doctor's finding about one thing: text when it is as it should be,
// otherwise the error and what mends it.
func Checked(name, text string, err error) rye.DoctorCheck {
	if err != nil {
		return rye.DoctorCheck{Name: name, Text: err.Error(), Mend: fault.HintOf(err)}
	}
	return rye.DoctorCheck{Name: name, OK: true, Text: text}
}

// CheckProject says which project this is. To be outside a project is not wrong.
func CheckProject(h *Host) rye.DoctorCheck {
	if h.ProjectDir == "" {
		return rye.DoctorCheck{Name: "project", OK: true, Text: "none in this directory or above", Mend: fault.Command("rye init")}
	}
	p, err := ReadProject(h.ProjectDir)
	if err != nil {
		return Checked("project", "", err)
	}
	return Checked("project", fmt.Sprintf("%s, namespace %s", h.ProjectDir, p.Namespace), nil)
}

// CheckSystem opens the standard library, which verifies its manifest.
func CheckSystem(h *Host) rye.DoctorCheck {
	b, err := h.System()
	if err != nil {
		return Checked("standard library", "", err)
	}
	return Checked("standard library", words.Plural(len(b.Refs()), "item")+", compiled in, manifest signed", nil)
}
