package objects

// MemberChange is a file of a bundle that differs from the previous manifest.
type MemberChange struct {
	Path       string `json:"path"`   // below the bundle's directory
	Change     string `json:"change"` // new, changed or gone
	Executable bool   `json:"executable,omitempty"`
}

// Since returns the changes of the files since the previous manifest, which is nil when there
// was none.
func (m *Manifest) Since(old *Manifest) []MemberChange {
	var all []MemberChange
	for _, f := range m.Files {
		was, there := old.File(f.Path)
		switch {
		case !there:
			all = append(all, MemberChange{f.Path, "new", f.Executable})
		case was.Sum != f.Sum || was.Executable != f.Executable:
			all = append(all, MemberChange{f.Path, "changed", f.Executable})
		}
	}
	if old == nil {
		return all
	}
	for _, f := range old.Files {
		if _, there := m.File(f.Path); !there {
			all = append(all, MemberChange{f.Path, "gone", f.Executable})
		}
	}
	return all
}
