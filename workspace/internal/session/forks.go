package session

import (
	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry/memory"
)

// Fork reports that a registry, or a mirror of it, showed a history other than the verified
// one. It is reported until the directory that keeps both is removed.
type Fork struct {
	Text string
	Mend fault.Hint
}

// Forks returns the known forks of every registry. project names its registries; it may be
// nil.
func Forks(h *Host, project *Project) ([]Fork, error) {
	_, state := h.Registries()
	kept, err := memory.Evidence(state)
	var all []Fork
	for _, e := range kept {
		name := "the registry " + e.ID.String()
		if project != nil {
			for n, r := range project.Registries {
				if id, err := objects.ParseDigest(r.ID); err == nil && id == e.ID {
					name = "the registry " + n
				}
			}
		}
		all = append(all, Fork{name + " showed two histories; the evidence is in " + e.Dir,
			fault.Advice("show both to its owners; when this is settled: rm -r %s", e.Dir)})
	}
	return all, err
}

// TellForks tells the user about the known forks.
func TellForks(s *Session) error {
	all, err := Forks(s.Host, s.Project)
	for _, f := range all {
		s.Tell(f.Text + "; " + f.Mend.String())
	}
	return err
}

// checkForks reports the known forks, one by one.
func checkForks(h *Host) (all []rye.DoctorCheck) {
	forks, err := Forks(h, nil)
	if err != nil {
		all = append(all, Checked("registries", "", err))
	}
	for _, f := range forks {
		all = append(all, rye.DoctorCheck{Name: "registries", Text: f.Text, Mend: f.Mend})
	}
	return all
}
