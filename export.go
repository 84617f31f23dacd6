package rye

// ClientExport asks for copies of verified skills, commands, agents and rules where clients read
// them. Without To it renews the clients that a person agreed to here; in a directory without any,
// the ones that rye.yaml proposes.
type ClientExport struct {
	To      []string // names of clients
	Targets []Target // bundles, or patterns of their ids; empty is all
	Space   string   // "project" or "user"; "" is project

	Check    bool // write nothing; compare
	Take     bool // bring edits of copies back into the bundles, unsigned
	Remove   bool // delete the copies for To
	Confined bool // write stubs that call rye in the place of programs
	Link     bool // one copy, and links to it where several directories want the same
	Hook     bool // a hook that prints counts when a session of the client starts; with Remove, its end
	DryRun   bool
}

// ClientExported is the outcome of an export. It is returned beside an error when copies differ.
type ClientExported struct {
	Clients []string     `json:"clients"`
	Copies  []ClientCopy `json:"copies"`
	Left    []ClientLeft `json:"left,omitempty"`
	Taken   []AddReport  `json:"taken,omitempty"` // bundles that got edits of copies
	DryRun  bool         `json:"dry_run,omitempty"`
}

// ClientCopy is one folder of a client that is the copy of a skill, or one file. Its state is
// unchanged, written, removed, linked, missing, behind (an earlier version), changed (by something
// other than rye), extra (files that the item does not have), left over (of an item that is gone) or unverified (of
// an item that does not verify now).
type ClientCopy struct {
	Ref     string   `json:"ref,omitempty"`
	Path    string   `json:"path"` // below the project, or below the home directory
	State   string   `json:"state"`
	Files   int      `json:"files"`
	Missing []string `json:"missing,omitempty"`
	Behind  []string `json:"behind,omitempty"`
	Changed []string `json:"changed,omitempty"`
	Extra   []string `json:"extra,omitempty"`
	Endings []string `json:"endings,omitempty"` // only the line endings differ, as git writes them on Windows
	Diff    []string `json:"diff,omitempty"`    // of the changed texts
}

// Fits reports whether a copy is as the item is.
func (c *ClientCopy) Fits() bool {
	return len(c.Missing)+len(c.Behind)+len(c.Changed)+len(c.Extra) == 0 && c.State != "left over" && c.State != "unverified"
}

// ClientLeft is a part that was not exported, and why.
type ClientLeft struct {
	Ref string `json:"ref"`
	Why string `json:"why"`
}

// ExportClient describes a client for the list of clients.
type ExportClient struct {
	Name     string `json:"name"`
	Title    string `json:"title"`
	Tried    bool   `json:"tried"`                // its own program listed an exported skill; otherwise known by documents
	With     string `json:"tried_with,omitempty"` // the version and the command of that
	Skills   string `json:"skills,omitempty"`
	Commands string `json:"commands,omitempty"`
	Agents   string `json:"agents,omitempty"`
	Rules    string `json:"rules,omitempty"`
	User     string `json:"user,omitempty"` // skills of the user
}

// PluginExport asks for one folder that is a plugin by Agent Plugins 1.0 and for Claude Code.
type PluginExport struct {
	Dir     string // a folder that does not exist yet or is empty
	Name    string // "" is the project's namespace
	Targets []Target
}

// PluginExported lists the written files.
type PluginExported struct {
	Dir   string       `json:"dir"`
	Name  string       `json:"name"`
	Files []string     `json:"files"`
	Left  []ClientLeft `json:"left,omitempty"`
}

// SiteExport asks for a web site with an index of skills (Agent Skills discovery 0.2.0).
type SiteExport struct {
	Dir     string // the root of the site
	Targets []Target
	Check   bool // only compare
	DryRun  bool
}

// SiteExported lists the files of a site.
type SiteExported struct {
	Dir    string       `json:"dir"`
	Files  []SiteFile   `json:"files"`
	Left   []ClientLeft `json:"left,omitempty"`
	DryRun bool         `json:"dry_run,omitempty"`
}

// SiteFile is one file of a site. Its state is written, unchanged or removed; before a write missing,
// behind (rye wrote an older version), changed (rye did not write it) or left over (of a skill that is
// gone).
type SiteFile struct {
	Path   string `json:"path"` // below the root
	Skill  string `json:"skill,omitempty"`
	State  string `json:"state"`
	SHA256 string `json:"sha256,omitempty"`
}
