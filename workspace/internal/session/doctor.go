package session

import (
	"fmt"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

func (h *Host) CheckProject() rye.DoctorCheck {
	c := rye.DoctorCheck{Name: "project"}
	if h.ProjectDir == "" {
		c.OK, c.Text, c.Mend = true, "none in this directory or above", fault.Command("rye init")
		return c
	}
	p, err := ReadProject(h.ProjectDir)
	if err != nil {
		c.Text, c.Mend = err.Error(), fault.HintOf(err)
		return c
	}
	c.OK, c.Text = true, fmt.Sprintf("%s, namespace %s", h.ProjectDir, p.Namespace)
	return c
}

func (h *Host) CheckSystem() rye.DoctorCheck {
	b, err := h.System()
	if err != nil {
		return rye.DoctorCheck{Name: "standard library", Text: err.Error()}
	}
	return rye.DoctorCheck{Name: "standard library", OK: true, Text: words.Plural(len(b.Refs()), "item") + ", compiled in, manifest signed"}
}
