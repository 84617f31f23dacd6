package policy

import (
	"maps"
	"regexp"
	"slices"
	"sort"
	"time"

	"github.com/rye-os/rye/chain/command"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// Rules is a policy: the user's policy.yaml, tightened by the project's. The zero value is not a
// policy; Default is.
type Rules struct {
	AutoApprove command.Tier  // up to here nothing needs consent
	DenyFrom    command.Tier  // from here on consent is not enough
	Timeout     time.Duration // of a question

	AllowLegacy bool              // RYE OS's signatures may be used
	RefuseOlder bool              // nothing runs that is older than the newest recorded version
	RefuseStale bool              // refuse to take from a registry when its checkpoint is no longer fresh
	Ages        []Age             // how old a published version must be to be taken anew; all apply
	Unprotected bool              // tools may write a project even if .ai and .git cannot be kept out; the user's only
	Deny        Caps              // refused to everybody
	Callers     map[string]Caps   // the most that a caller of this name holds
	Tools       []ToolRule        // tiers of certain tools
	Patterns    []command.Pattern // further dangerous texts
	Allowed     []Approval        // remembered approvals; the user's only
	Elicitation []string          // MCP clients that show an elicitation to a person; the user's only
	SubAgents   struct{ AutoApprove, DenyFrom command.Tier }
	LeastTier   string // least sandbox: "" or "S0" to "S3"
	Net         Net
	Demands     Demands
}

// ToolRule sets the tier of the tools whose id matches ("*" is any text). The user's rule
// replaces the tiers of the tool, its primitive and its needs; the project's rule can only raise
// them.
type ToolRule struct {
	ID   string
	Tier command.Tier
	set  bool // the user's: replaces
}

// Default is the policy of a user without a file. It follows the README of Ryvos.
func Default() Rules {
	r := Rules{AutoApprove: command.T1, DenyFrom: command.T4, Timeout: time.Minute}
	r.SubAgents.AutoApprove, r.SubAgents.DenyFrom = command.T0, command.T3
	return r
}

// MaxFile bounds a policy file in bytes.
const MaxFile = 256 << 10

// file is policy.yaml. Absent fields change nothing.
type file struct {
	Policy      int                     `yaml:"policy"`
	Limits      limits                  `yaml:",inline"`
	Timeout     *int                    `yaml:"approval_timeout_secs,omitempty"`
	AllowLegacy *bool                   `yaml:"allow_legacy,omitempty"`
	Older       string                  `yaml:"older,omitempty"`   // "refuse"
	Stale       string                  `yaml:"stale,omitempty"`   // "refuse"
	MinAge      string                  `yaml:"min_age,omitempty"` // "7d"
	AgeExcept   []string                `yaml:"min_age_except,omitempty"`
	Unprotected string                  `yaml:"unprotected,omitempty"` // "allow"
	Deny        []string                `yaml:"deny,omitempty"`
	Callers     map[string][]string     `yaml:"callers,omitempty"`
	Tools       map[string]command.Tier `yaml:"tool_overrides,omitempty"`
	Patterns    []patternFile           `yaml:"dangerous_patterns,omitempty"`
	SubAgents   limits                  `yaml:"sub_agent_policy,omitempty"`
	Sandbox     string                  `yaml:"sandbox,omitempty"`
	Net         *netFile                `yaml:"net,omitempty"`
	Locked      bool                    `yaml:"locked_only,omitempty"`
	NoDrift     bool                    `yaml:"fail_on_drift,omitempty"`
	Origin      bool                    `yaml:"require_origin,omitempty"`
	Review      bool                    `yaml:"require_review,omitempty"`
	Sources     *[]string               `yaml:"allowed_sources,omitempty"`
	Elicitation []string                `yaml:"elicitation,omitempty"`
	Allowed     []approvalFile          `yaml:"allowed,omitempty"`
}

type patternFile struct {
	Pattern string        `yaml:"pattern"`
	Label   string        `yaml:"label"`
	Tier    *command.Tier `yaml:"tier,omitempty"`
}

// limits are the tiers for all callers, or for sub-agents.
type limits struct {
	AutoApprove *command.Tier `yaml:"auto_approve_up_to,omitempty"`
	DenyFrom    *command.Tier `yaml:"deny_from,omitempty"`
	DenyAbove   *command.Tier `yaml:"deny_above,omitempty"` // t3 means deny_from: t4; t4, the highest, refuses nothing
}

// or returns the stated tiers, and the arguments for the others.
func (l limits) or(autoApprove, denyFrom command.Tier) (command.Tier, command.Tier) {
	if l.AutoApprove != nil {
		autoApprove = *l.AutoApprove
	}
	if l.DenyFrom != nil {
		denyFrom = *l.DenyFrom
	} else if l.DenyAbove != nil {
		denyFrom = *l.DenyAbove + 1
	}
	return autoApprove, denyFrom
}

// ParseRules reads the user's policy over the defaults. An empty file is Default.
func ParseRules(raw []byte) (Rules, error) {
	r := Default()
	f, err := decode(raw)
	if err != nil || f == nil {
		return r, err
	}
	n, err := f.read()
	if err != nil {
		return Default(), err
	}
	r.AutoApprove, r.DenyFrom = f.Limits.or(r.AutoApprove, r.DenyFrom)
	r.SubAgents.AutoApprove, r.SubAgents.DenyFrom = f.SubAgents.or(r.SubAgents.AutoApprove, r.SubAgents.DenyFrom)
	if f.Timeout != nil {
		r.Timeout = time.Duration(*f.Timeout) * time.Second
	}
	r.AllowLegacy, r.RefuseOlder, r.Unprotected = f.AllowLegacy != nil && *f.AllowLegacy, n.RefuseOlder, n.Unprotected
	r.RefuseStale, r.Ages = n.RefuseStale, n.Ages
	for i := range n.Tools {
		n.Tools[i].set = true
	}
	r.Deny, r.Callers, r.Tools, r.Patterns, r.Allowed, r.LeastTier = n.Deny, n.Callers, n.Tools, n.Patterns, n.Allowed, f.Sandbox
	r.Net, r.Elicitation, r.Demands = n.Net, n.Elicitation, n.Demands
	if r.AutoApprove >= r.DenyFrom {
		return Default(), fault.New(fault.Malformed, "policy: auto_approve_up_to %s reaches deny_from %s", r.AutoApprove, r.DenyFrom)
	}
	return r, nil
}

// Tighten returns r narrowed by a project's policy. No decision becomes milder: approvals in it
// are an error, and larger values are ignored.
func (r Rules) Tighten(raw []byte) (Rules, error) {
	f, err := decode(raw)
	if err != nil || f == nil {
		return r, err
	}
	n, err := f.read()
	if err != nil {
		return r, err
	}
	if len(f.Allowed) > 0 {
		return r, fault.New(fault.Denied, "policy of the project: it holds approvals, which only the user can give").Advise("rye policy allow <ref>")
	}
	if f.Unprotected != "" {
		return r, fault.New(fault.Denied, "policy of the project: it sets unprotected, which only the user can set")
	}
	if len(f.Elicitation) > 0 {
		return r, fault.New(fault.Denied, "policy of the project: it lists clients that show questions to a person, which only the user can list").
			Advise("take elicitation out of .ai/policy.yaml, and put it into your own policy.yaml")
	}
	ask, deny := f.Limits.or(r.AutoApprove, r.DenyFrom)
	r.AutoApprove, r.DenyFrom = min(r.AutoApprove, ask), min(r.DenyFrom, deny)
	ask, deny = f.SubAgents.or(r.SubAgents.AutoApprove, r.SubAgents.DenyFrom)
	r.SubAgents.AutoApprove, r.SubAgents.DenyFrom = min(r.SubAgents.AutoApprove, ask), min(r.SubAgents.DenyFrom, deny)
	if f.Timeout != nil {
		r.Timeout = min(r.Timeout, time.Duration(*f.Timeout)*time.Second)
	}
	if f.AllowLegacy != nil {
		r.AllowLegacy = r.AllowLegacy && *f.AllowLegacy
	}
	r.RefuseOlder, r.RefuseStale = r.RefuseOlder || n.RefuseOlder, r.RefuseStale || n.RefuseStale
	r.Ages = append(slices.Clip(r.Ages), n.Ages...)
	r.Deny = append(slices.Clip(r.Deny), n.Deny...)
	r.Tools = append(slices.Clip(r.Tools), n.Tools...)
	r.Patterns = append(slices.Clip(r.Patterns), n.Patterns...)
	r.Callers = narrowCallers(r.Callers, n.Callers)
	r.LeastTier = max(r.LeastTier, f.Sandbox)
	r.Net = r.Net.tighten(f.Net, n.Net)
	r.Demands = r.Demands.and(n.Demands)
	return r, nil
}

func narrowCallers(own, more map[string]Caps) map[string]Caps {
	out := map[string]Caps{}
	maps.Copy(out, own)
	for name, caps := range more {
		if held, ok := out[name]; ok {
			caps = Narrow(held, caps)
		}
		out[name] = caps
	}
	return out
}

func decode(raw []byte) (*file, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var f file
	if err := objects.DecodeYAML(raw, MaxFile, &f); err != nil {
		return nil, err
	}
	if f.Policy != 1 {
		return nil, fault.New(fault.Malformed, "policy: format %d, this version of rye reads format 1", f.Policy).Advise("begin the file with policy: 1")
	}
	if f.Limits.DenyFrom != nil && f.Limits.DenyAbove != nil || f.SubAgents.DenyFrom != nil && f.SubAgents.DenyAbove != nil {
		return nil, fault.New(fault.Malformed, "policy: deny_from and deny_above are the same setting; keep deny_from")
	}
	return &f, nil
}

// read checks the lists of a file.
func (f *file) read() (r Rules, err error) {
	if f.Timeout != nil && (*f.Timeout < 1 || *f.Timeout > 86400) {
		return r, fault.New(fault.Malformed, "policy: approval_timeout_secs %d: want 1 to 86400", *f.Timeout)
	}
	if !slices.Contains([]string{"", "S0", "S1", "S2", "S3"}, f.Sandbox) {
		return r, fault.New(fault.Malformed, "policy: sandbox %q: want S0, S1, S2 or S3", words.Brief(f.Sandbox))
	}
	if f.Older != "" && f.Older != "refuse" {
		return r, fault.New(fault.Malformed, "policy: older %q: want refuse, or nothing", words.Brief(f.Older))
	}
	if f.Stale != "" && f.Stale != "refuse" {
		return r, fault.New(fault.Malformed, "policy: stale %q: want refuse, or nothing", words.Brief(f.Stale))
	}
	r.RefuseOlder, r.RefuseStale = f.Older == "refuse", f.Stale == "refuse"
	if f.Unprotected != "" && f.Unprotected != "allow" {
		return r, fault.New(fault.Malformed, "policy: unprotected %q: want allow, or nothing", words.Brief(f.Unprotected))
	}
	r.Unprotected = f.Unprotected == "allow"
	if r.Ages, err = readAge(f.MinAge, f.AgeExcept); err != nil {
		return r, err
	}
	if r.Net, err = f.Net.read(); err != nil {
		return r, err
	}
	if r.Deny, err = ParseCaps(f.Deny); err != nil {
		return r, err
	}
	r.Callers = map[string]Caps{}
	for name, list := range f.Callers {
		if r.Callers[name], err = ParseCaps(list); err != nil {
			return r, err
		}
	}
	for id, t := range f.Tools {
		if _, err := ParseCap("rye.execute.tool." + dots(id)); err != nil {
			return r, fault.New(fault.Malformed, "policy: tool_overrides %q: want an id, in which * is any text", words.Brief(id))
		}
		r.Tools = append(r.Tools, ToolRule{ID: id, Tier: t})
	}
	// The last matching rule wins: the one with the longest id, which is the most specific.
	sort.Slice(r.Tools, func(i, j int) bool {
		a, b := r.Tools[i].ID, r.Tools[j].ID
		return len(a) < len(b) || len(a) == len(b) && a < b
	})
	for _, p := range f.Patterns {
		re, err := regexp.Compile(p.Pattern)
		if err != nil || p.Label == "" || p.Pattern == "" {
			return r, fault.New(fault.Malformed, "policy: dangerous_patterns %q: want a pattern that compiles and a label", words.Brief(p.Pattern))
		}
		t := command.T4
		if p.Tier != nil {
			t = *p.Tier
		}
		r.Patterns = append(r.Patterns, command.Pattern{Label: p.Label, Tier: t, Match: re})
	}
	if r.Elicitation, err = clientNames(f.Elicitation); err != nil {
		return r, err
	}
	if r.Demands, err = f.demands(); err != nil {
		return r, err
	}
	return r, f.approvals(&r)
}

// clientNames checks the names by which MCP clients introduce themselves.
func clientNames(names []string) ([]string, error) {
	for i, name := range names {
		if name == "" || len(name) > 200 || slices.Contains(names[:i], name) {
			return nil, fault.New(fault.Malformed, "policy: elicitation %q: want the name of an MCP client, once", words.Brief(name))
		}
	}
	return names, nil
}

// demands reads the conditions on items.
func (f *file) demands() (d Demands, err error) {
	d = Demands{Locked: f.Locked, NoDrift: f.NoDrift, Origin: f.Origin, Review: f.Review}
	if f.Sources == nil {
		return d, nil
	}
	if len(*f.Sources) > MaxAddresses {
		return d, fault.New(fault.Limit, "policy: allowed_sources has %d patterns, at most %d are allowed", len(*f.Sources), MaxAddresses)
	}
	list := make([]Address, len(*f.Sources))
	for i, text := range *f.Sources {
		if list[i], err = ParseAddress(text); err != nil {
			return d, err
		}
	}
	d.Sources = [][]Address{list}
	return d, nil
}
