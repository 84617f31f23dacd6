package workspace_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
)

func (p *person) offered(query string) (items []string, res *rye.SearchResult) {
	p.t.Helper()
	res, err := p.Search(p.t.Context(), rye.Terminal(), rye.SearchRequest{Query: query, Space: rye.SpaceRegistry, Limit: 100})
	if err != nil {
		p.t.Fatalf("%s: %v", query, err)
	}
	for _, h := range res.Results {
		items = append(items, h.Offer.Registry+" "+h.Offer.Item+"@"+h.Version)
	}
	return items, res
}

func (p *person) catalogues() []rye.CatalogueInfo {
	p.t.Helper()
	all, err := p.Registry().Catalogue(p.t.Context(), rye.Terminal(), rye.CatalogueRequest{})
	if err != nil {
		p.t.Fatal(err)
	}
	return all
}

// A model that asks for an item gets it when a person agreed to what comes, and not before. The
// question says who asks, and for what.
func TestModelAddsOnceAPersonAgreed(t *testing.T) {
	_, bob, _ := published(t)
	add := func() (*rye.ExecuteResult, error) {
		return bob.Execute(t.Context(), rye.Client(), rye.ExecuteRequest{Ref: refOf("tool:rye/registry/add"), Params: []byte(`{"item":"acme/tool/greet"}`)})
	}
	bob.yes = false
	before := bob.read("rye.yaml")
	_, err := add()
	wantCode(t, "add", err, fault.Denied)
	asked := bob.asks[len(bob.asks)-1]
	if !strings.Contains(asked.Text, "asks to add acme/tool/greet to this project") || !strings.Contains(strings.Join(asked.Lines, "\n"), "author   SHA256:") {
		t.Errorf("the question says %q, %q", asked.Text, asked.Lines)
	}
	if bob.read("rye.yaml") != before {
		t.Error("a refused call changed rye.yaml")
	}
	bob.yes = true
	if _, err := add(); err != nil {
		t.Fatal(err)
	}
	if _, err := bob.run("tool:acme/greet", nil); err != nil {
		t.Errorf("what was added does not run: %v", err)
	}
	n := len(bob.asks)
	if _, err := add(); err != nil || len(bob.asks) != n {
		t.Errorf("nothing was new, and %d questions were put: %v", len(bob.asks)-n, err)
	}
}

// A registry that lists a namespace which another registry was given cannot stand before it: not
// in a search, not in info.
func TestRegistryCannotShadow(t *testing.T) {
	_, bob, _ := published(t)
	eve := project(t)
	eve.write("tools/acme/greet.sh", strings.ReplaceAll(greet, "1.0.0", "9.9.9"))
	eve.sign("*")
	other := filepath.Join(t.TempDir(), "other.git")
	if _, err := eve.Registry().Init(t.Context(), rye.Terminal(), rye.RegistryInitRequest{URL: other}); err != nil {
		t.Fatal(err)
	}
	eve.push("tool:acme/greet")
	bob.add("acme/tool/greet")
	if _, err := bob.Registry().Add(t.Context(), rye.Terminal(), rye.RegistryAddRequest{URL: other, Name: "aaa", Scopes: []string{"evil"}}); err != nil {
		t.Fatal(err)
	}
	for _, info := range bob.catalogues() {
		if info.Registry == "aaa" && info.Namespace == "acme" {
			t.Errorf("the other registry was asked about acme: %+v", info)
		}
	}
	items, _ := bob.offered("greet")
	if len(items) != 1 || items[0] != "main acme/tool/greet@1.0.0" {
		t.Errorf("offered %q", items)
	}
	info, err := bob.Registry().Info(t.Context(), rye.Terminal(), rye.PublishedRequest{Name: "acme/tool/greet"})
	if err != nil || info.Registry != "main" || len(info.Versions) != 1 || info.Versions[0].Version != "1.0.0" || !info.Versions[0].Locked || !info.Versions[0].InRange {
		t.Errorf("info %+v, %v", info, err)
	}
}

// A model searches what registries offer as far as its capabilities reach, and without network.
func TestOffersBehindCapabilities(t *testing.T) {
	_, bob, url := published(t)
	bob.catalogues()
	testkit.CopyDir(t, url, url+".away")
	if err := os.RemoveAll(url); err != nil {
		t.Fatal(err)
	}
	if items, _ := bob.offered("*"); len(items) != 1 {
		t.Fatalf("offered %q", items)
	}
	may := func(capability string) int {
		res, err := bob.Search(t.Context(), rye.Program("test", capability), rye.SearchRequest{Query: "*", Space: rye.SpaceRegistry})
		if fault.Is(err, fault.Denied) {
			return -1
		}
		if err != nil {
			t.Fatal(err)
		}
		return res.Total
	}
	if a, b, c := may("rye.search.tool.acme.*"), may("rye.search.tool.other.*"), may("rye.load.*"); a != 1 || b != 0 || c != -1 {
		t.Errorf("found %d, %d, %d", a, b, c)
	}
	info, err := bob.Registry().Info(t.Context(), rye.Terminal(), rye.PublishedRequest{Name: "acme/tool/greet"})
	if err != nil || info.Contacted || len(info.Warnings) == 0 || info.Verified == "" {
		t.Errorf("without the host: %+v, %v", info, err)
	}
	if raw, err := json.Marshal(info); err != nil || !strings.Contains(string(raw), `"contacted":false`) {
		t.Errorf("%s, %v", raw, err)
	}
}
