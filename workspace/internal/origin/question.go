package origin

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain/policy"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/diff"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/program"
)

// describe fills in the report of an update.
func (n *next) describe(out *rye.OriginUpdate, whole bool) {
	out.State, out.Signed = stateUpdated, n.sign
	if len(n.merged.conflicts) > 0 {
		out.State = stateConflict
	}
	for _, c := range n.merged.conflicts {
		out.Conflicts = append(out.Conflicts, c.path+": "+c.why)
	}
	out.Edited, out.Left = n.merged.edited, n.left
	out.Files = n.changed()
	out.Programs, out.Hosts, out.Wider = n.programs(), n.hosts(), n.wider()
	out.SHA256Was, out.SHA256 = n.bundle.manifest.Item().Digest.String(), objects.DigestOf(n.raw).String()
	if whole {
		out.Diff = n.diff()
	}
}

// changed lists the files that upstream changed.
func (n *next) changed() (all []string) {
	sides := map[string]bool{}
	maps.Copy(sides, keysOf(n.base))
	maps.Copy(sides, keysOf(n.theirs))
	for _, p := range slices.Sorted(maps.Keys(sides)) {
		b, was := n.base[p]
		t, is := n.theirs[p]
		if was != is || !b.same(t) {
			all = append(all, p)
		}
	}
	return all
}

func keysOf(m members) map[string]bool {
	all := make(map[string]bool, len(m))
	for p := range m {
		all[p] = true
	}
	return all
}

// diff shows upstream's change, file by file.
func (n *next) diff() (lines []string) {
	for _, p := range n.changed() {
		b, was := n.base[p]
		t, is := n.theirs[p]
		head := p
		switch {
		case !was:
			head += "  (new)"
		case !is:
			head += "  (removed)"
		case b.exec != t.exec:
			head += map[bool]string{true: "  (runs now)", false: "  (runs no more)"}[t.exec]
		}
		lines = append(lines, head)
		if diff.Binary(string(b.data)) || diff.Binary(string(t.data)) {
			lines = append(lines, "  no text: "+words.Plural(len(b.data), "byte")+" -> "+words.Plural(len(t.data), "byte"))
			continue
		}
		for _, l := range diff.Lines(string(b.data), string(t.data)) {
			lines = append(lines, "  "+l)
		}
	}
	return lines
}

// programs lists the programs that the next version has and the one before had not, by content.
func (n *next) programs() (all []string) {
	before := membersOf(n.bundle.dir, n.ours)
	for _, p := range slices.Sorted(maps.Keys(n.merged.files)) {
		f := n.merged.files[p]
		kind := program.Of(p, f.data, f.exec)
		old, was := before[p]
		if kind != "" && !(was && program.Of(p, old.data, old.exec) == kind) {
			all = append(all, p+" ("+string(kind)+")")
		}
	}
	return all
}

// maxNamed bounds the hosts that are listed.
const maxNamed = 20

var address = regexp.MustCompile(`(?i)\b(?:https?|ftp|ssh|git)://(?:[^\s/@"'<>]*@)?([a-z0-9][a-z0-9.-]*[a-z0-9])`)

// hosts lists the hosts that the next version names in its texts and the one before did not.
func (n *next) hosts() []string {
	before, now := map[string]bool{}, map[string]bool{}
	for _, c := range n.ours {
		hostsIn(c.Data, before)
	}
	for _, f := range n.merged.files {
		hostsIn(f.data, now)
	}
	maps.DeleteFunc(now, func(h string, _ bool) bool { return before[h] })
	all := slices.Sorted(maps.Keys(now))
	if more := len(all) - maxNamed; more > 0 {
		all = append(all[:maxNamed], fmt.Sprintf("and %d more", more))
	}
	return all
}

func hostsIn(data []byte, into map[string]bool) {
	if !program.Text(data) {
		return
	}
	for _, m := range address.FindAllSubmatch(data, -1) {
		into[strings.ToLower(string(m[1]))] = true
	}
}

// wider lists the needs and permissions of tools and directives that were not there before.
func (n *next) wider() (all []string) {
	before := membersOf(n.bundle.dir, n.ours)
	for _, p := range slices.Sorted(maps.Keys(n.merged.files)) {
		now, err := objects.Parse(n.bundle.dir+"/"+p, n.merged.files[p].data)
		if err != nil || now.Meta.Part || now.Ref.Kind != objects.Tool && now.Ref.Kind != objects.Directive {
			continue
		}
		was, err := objects.Parse(n.bundle.dir+"/"+p, before[p].data)
		if err != nil {
			was = &objects.Item{Ref: now.Ref}
			was.Meta.Needs.Declared = true
		}
		for _, w := range policy.Wider(now, was) {
			all = append(all, p+" "+w)
		}
	}
	return all
}

// showUnsigned shows the user's edits that no manifest of theirs lists yet: the new signature is for
// them, too, and somebody else may have made them.
func (n *next) showUnsigned(add func(format string, args ...any)) {
	if !n.sign {
		return
	}
	for _, c := range n.ours {
		p := strings.TrimPrefix(c.Path, n.bundle.dir+"/")
		f, listed := n.bundle.manifest.File(p)
		now, stays := n.merged.files[p]
		if listed && f.Matches(c.Data) || !stays || now.same(n.theirs[p]) {
			continue
		}
		add("NOT SIGNED YET %s", p)
		if diff.Binary(string(c.Data)) {
			continue
		}
		for i, l := range diff.Lines(string(n.base[p].data), string(c.Data)) {
			if i == maxDiff {
				add("… more lines; rye diff bundle:%s shows all", n.bundle.name)
				break
			}
			add("  %s", l)
		}
	}
}

// maxDiff bounds the lines of upstream's change in a question.
const maxDiff = 200

// question asks about the bytes that are signed before and those to be signed.
func (n *next) question(a *arrived, q rye.OriginUpdateRequest) rye.Question {
	o := n.manifest.Origin
	var lines []string
	add := func(format string, args ...any) {
		lines = append(lines, words.Clip(fmt.Sprintf(format, args...), rye.MaxLineBytes-8))
	}
	add("source   %s", shown(o))
	add("commit   %s -> %s", n.bundle.pin.Commit, o.Commit)
	if a.signer != "" || a.other != "" {
		add("upstream %s", signedBy(a.commit))
	}
	if n.renamed != "" {
		add("FOLDER   %s is now %s", n.bundle.pin.Path, n.renamed)
	}
	programs, wider := n.programs(), n.wider()
	for _, p := range programs {
		add("NEW PROGRAM %s", p)
	}
	for _, w := range wider {
		add("NOW ALSO %s", w)
	}
	for _, h := range n.hosts() {
		add("NEW HOST in a text: %s", h)
	}
	for _, l := range n.left {
		add("NOTE     %s", l)
	}
	for _, p := range n.merged.edited {
		add("your edit stays: %s", p)
	}
	n.showUnsigned(add)
	for _, c := range n.merged.conflicts {
		add("CONFLICT %s: %s", c.path, c.why)
	}
	for i, l := range n.diff() {
		if i == maxDiff {
			add("… more lines; rye update %s --dry-run --diff shows all", n.bundle.name)
			break
		}
		add("  %s", l)
	}
	if n.bundle.manifest.Item().Signature != nil {
		add("signed before %s", n.bundle.manifest.Item().Digest)
	} else {
		add("not signed before")
	}
	if n.sign {
		add("to be signed  %s", objects.DigestOf(n.raw))
	} else {
		add("stays unsigned: rye sign .ai/%s", n.bundle.dir)
	}
	again := []string{"rye", "update", n.bundle.name}
	var flags []string
	if len(programs)+len(wider) > 0 && !q.AcceptNeeds {
		flags = []string{acceptNeeds}
		again = append(again, acceptNeeds)
	}
	return rye.Question{Topic: "update " + n.bundle.name, Text: "Update it?", Lines: lines, Flags: flags, Mend: fault.CommandOf(append(again, "--yes")...)}
}
