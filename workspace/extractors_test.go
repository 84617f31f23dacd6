package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/workspace"
)

const (
	knowledgeExtractor = "tool:rye/core/extractors/knowledge/knowledge_extractor"
	extractorPath      = "tools/rye/core/extractors/knowledge/knowledge_extractor.yaml"
	extractorHead      = "version: 1.0.0\ntool_type: extractor\nexecutor_id: null\ndescription: ours\n"
)

func (p *person) extractor(parts string) {
	p.t.Helper()
	p.write(extractorPath, extractorHead+parts)
	if _, err := p.Trust().Override(p.t.Context(), rye.Terminal(), rye.TrustOverrideRequest{Ref: refOf(knowledgeExtractor), Remove: false}); err != nil {
		p.t.Fatal(err)
	}
	p.sign(knowledgeExtractor)
}

// listed returns how the item is listed: its description and further fields.
func (p *person) listed(id string) string {
	p.t.Helper()
	all, err := p.List(p.t.Context(), rye.Terminal(), rye.ListRequest{Kind: "knowledge", Space: ""})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, it := range all {
		if it.ID == id {
			return it.Description + "|" + it.Fields["team"]
		}
	}
	p.t.Fatalf("%s is not listed", id)
	return ""
}

const teamNote = "---\ntitle: Pump\nversion: 1.0.0\nentry_type: reference\ndescription: plain\nteam: core\nshort: brief\n---\n"

// Two projects of one user in one process, as in a server: each sees its own rules,
// over its own items and the user's, and neither the other's. One project of the
// RYE OS's decided for all.
func TestExtractorsOfTwoProjects(t *testing.T) {
	a := project(t)
	b := &person{t: t, home: a.home, dir: t.TempDir(), o: a.o, yes: true}
	b.o.Project = ""
	b.Workspace = workspace.Open(b.o)
	if _, err := b.Init(t.Context(), rye.Terminal(), rye.InitRequest{Dir: b.dir, Namespace: "acme"}); err != nil {
		t.Fatal(err)
	}
	b.enter(b.dir)
	for _, p := range []*person{a, b} {
		p.write("knowledge/acme/note.md", teamNote)
		p.sign("knowledge:acme/note")
	}
	user := filepath.Join(a.home, ".ai", "knowledge", "acme", "mine.md")
	if err := os.MkdirAll(filepath.Dir(user), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(user, []byte(teamNote), 0o644); err != nil {
		t.Fatal(err)
	}
	a.extractor("extraction_rules: {description: {type: path, key: short}}\nsearch_fields: {team: 1}\nvalidation_schema: {fields: {owner: {required: true}}}\n")
	for range 2 { // the second time from catalogues
		if got, want := a.listed("acme/note")+" "+a.listed("acme/mine"), "brief|core brief|core"; got != want {
			t.Errorf("the first project lists %q, want %q", got, want)
		}
		if got, want := b.listed("acme/note")+" "+b.listed("acme/mine"), "plain| plain|"; got != want {
			t.Errorf("the second project lists %q, want %q", got, want)
		}
	}
	q := rye.SearchRequest{Query: "team:core", Kind: "knowledge"}
	if res, err := a.Search(t.Context(), rye.Terminal(), q); err != nil || res.Total != 2 {
		t.Errorf("team:core finds %+v, %v, want 2", res, err)
	}
	if res, err := b.Search(t.Context(), rye.Terminal(), q); err != nil || !strings.Contains(res.Loose, "there are name") {
		t.Errorf("a field that no extractor here knows: %+v, %v, want the names of those there are", res, err)
	}
	if _, err := a.Sign(t.Context(), rye.Terminal(), rye.SignRequest{Targets: []rye.Target{"knowledge:acme/note"}}); !fault.Is(err, fault.Malformed) {
		t.Errorf("the first project signs without owner: %v", err)
	}
	if _, err := b.Sign(t.Context(), rye.Terminal(), rye.SignRequest{Targets: []rye.Target{"knowledge:acme/note"}}); err != nil {
		t.Errorf("the second project asks for what the first wants: %v", err)
	}
	// The user's items are the user's, whoever looks at them.
	if _, err := a.Sign(t.Context(), rye.Terminal(), rye.SignRequest{Targets: []rye.Target{"knowledge:acme/mine"}, Space: "user"}); err != nil {
		t.Errorf("the project asks something of the user space: %v", err)
	}
}

// The catalogue follows a changed extractor, and comes back with the old one.
func TestExtractorRebuildsTheCatalogue(t *testing.T) {
	p := project(t)
	p.write("knowledge/acme/note.md", teamNote)
	p.sign("knowledge:acme/note")
	if got := p.listed("acme/note"); got != "plain|" {
		t.Fatalf("listed as %q", got)
	}
	for _, step := range []struct{ parts, want string }{
		{"extraction_rules: {description: {type: path, key: short}}\n", "brief|"},
		{"extraction_rules: {description: {type: path, key: title}, team: {type: path, key: team}}\n", "Pump|core"},
		{"search_fields: {team: 2}\n", "plain|core"},
	} {
		p.extractor(step.parts)
		for range 2 {
			if got := p.listed("acme/note"); got != step.want {
				t.Errorf("under %q listed as %q, want %q", step.parts, got, step.want)
			}
		}
	}
}

// TestAttackSignedExtractor: the user's own signature, made by another program, does
// not let an extractor move what the law reads; what executes is what the file says.
func TestAttackSignedExtractor(t *testing.T) {
	p := project(t)
	p.write("knowledge/acme/note.md", teamNote)
	p.sign("knowledge:acme/note")
	p.extractor("")
	key, err := trust.LoadKey(filepath.Join(p.o.ConfigDir, "keys", "default"), nil)
	if err != nil {
		t.Fatal(err)
	}
	it, err := objects.Parse(extractorPath, []byte(strings.Replace(extractorHead, "1.0.0", "1.1.0", 1)+
		"signature_format: {prefix: '%%'}\nextraction_rules: {permissions: {type: path, key: tags}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := trust.SignItem(t.Context(), key, it, trust.Scope{Space: objects.Project}, p.o.Now())
	if err != nil {
		t.Fatal(err)
	}
	p.write(extractorPath, string(raw))
	if res, err := p.verifyOne(knowledgeExtractor); !res.OK || !fault.Is(err, fault.Malformed) || len(res.Mistakes) != 2 {
		t.Errorf("verify: %+v, %v, want a good signature, two mistakes and malformed", res, err)
	}
	for name, err := range map[string]error{
		"search": second(p.Search(t.Context(), rye.Client(), rye.SearchRequest{Query: "pump"})),
		"list":   second(p.List(t.Context(), rye.Terminal(), rye.ListRequest{Kind: "", Space: ""})),
		"show":   second(p.Show(t.Context(), rye.Terminal(), rye.ShowRequest{Ref: refOf("knowledge:acme/note"), All: false})),
		"sign":   second(p.Sign(t.Context(), rye.Terminal(), rye.SignRequest{Targets: []rye.Target{"knowledge:acme/note"}})),
	} {
		if !fault.Is(err, fault.Malformed) || !strings.Contains(err.Error(), knowledgeExtractor) {
			t.Errorf("%s: %v, want malformed and the item's name", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestAttackExtractors: nobody's extractor counts but the one that this user signed
// and meant, for this project; and whoever puts another in its place is noticed.
func TestAttackExtractors(t *testing.T) {
	p := project(t)
	p.write("knowledge/acme/note.md", teamNote)
	p.sign("knowledge:acme/note")
	refused := func(why string, want fault.Code) {
		t.Helper()
		_, err := p.Search(t.Context(), rye.Client(), rye.SearchRequest{Query: "pump"})
		if fault.CodeOf(err) != want || !strings.Contains(err.Error(), knowledgeExtractor) || fault.HintOf(err).IsZero() {
			t.Errorf("%s: %v, want %s, the item's name and a remedy", why, err, want)
		}
		if _, err := p.Sign(t.Context(), rye.Terminal(), rye.SignRequest{Targets: []rye.Target{"knowledge:acme/note"}}); fault.CodeOf(err) != want {
			t.Errorf("%s: sign: %v, want %s", why, err, want)
		}
		if _, err := p.Load(t.Context(), rye.Client(), rye.LoadRequest{Ref: refOf("knowledge:acme/note")}); err != nil {
			t.Errorf("%s: load: %v", why, err)
		}
	}
	p.write(extractorPath, extractorHead)
	refused("unsigned", fault.Untrusted)
	p.extractor("")
	good := p.read(extractorPath)
	if _, err := p.Trust().Override(t.Context(), rye.Terminal(), rye.TrustOverrideRequest{Ref: refOf(knowledgeExtractor), Remove: true}); err != nil {
		t.Fatal(err)
	}
	refused("signed, and the override taken back", fault.Untrusted)
	if _, err := p.Trust().Override(t.Context(), rye.Terminal(), rye.TrustOverrideRequest{Ref: refOf(knowledgeExtractor), Remove: false}); err != nil {
		t.Fatal(err)
	}
	p.write(extractorPath, strings.Replace(good, "ours", "hers", 1))
	refused("altered", fault.Integrity)
	p.write(strings.Replace(extractorPath, ".yaml", ".py", 1), "__version__ = '1.0.0'\n")
	p.write(extractorPath, good)
	refused("two files", fault.Conflict)
	os.Remove(p.path(strings.Replace(extractorPath, ".yaml", ".py", 1)))
	p.extractor("search_fields: {title: 1}\n")
	p.write(extractorPath, good)
	if _, err := p.Search(t.Context(), rye.Client(), rye.SearchRequest{Query: "pump"}); !fault.Is(err, fault.Rollback) || fault.HintOf(err).IsZero() {
		t.Errorf("played back: %v, want rollback and a remedy", err)
	}
	os.Remove(p.path(extractorPath))
	refused("removed", fault.Integrity)
	// Of the user space, nobody can mean it yet: there is no override there.
	p.extractor("")
	user := filepath.Join(p.home, ".ai", filepath.FromSlash(extractorPath))
	if err := os.MkdirAll(filepath.Dir(user), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(user, []byte(good), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Search(t.Context(), rye.Client(), rye.SearchRequest{Query: "pump"}); err != nil {
		t.Errorf("one in the user space that the project's stands before: %v", err)
	}
	p.enter(t.TempDir())
	if _, err := p.Init(t.Context(), rye.Terminal(), rye.InitRequest{Dir: p.dir, Namespace: "acme"}); err != nil {
		t.Fatal(err)
	}
	p.write("knowledge/acme/note.md", teamNote)
	if _, err := p.Search(t.Context(), rye.Client(), rye.SearchRequest{Query: "pump"}); !fault.Is(err, fault.Untrusted) || !strings.Contains(err.Error(), "user space") {
		t.Errorf("one in the user space: %v", err)
	}
	if err := os.Remove(user); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Search(t.Context(), rye.Client(), rye.SearchRequest{Query: "pump"}); err != nil {
		t.Errorf("without: %v", err)
	}
}
