package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/internal/words"
)

// showPublished shows an item, a namespace or a registry as a registry publishes it.
func (t *task) showPublished(q rye.PublishedRequest) error {
	return answer(t, t.w.Registry().Info, q, (*printer).printPublished)
}

// registryOnly is the flag --name for commands that look at all registries, or at the registry
// of a namespace.
func registryOnly(into *string) cli.Flag {
	return &cli.StringFlag{Name: "name", Destination: into, Usage: "only the registry with this `name` in the project"}
}

func (p *printer) printPublished(r *rye.Published) {
	switch {
	case r.Item != "":
		p.printf("%s  %s\n", bold(r.Item), r.Registry)
		p.fields(9, "asked for", r.Range, "locked", r.Locked)
	case r.Namespace != "":
		p.printf("%s  %s, at operation %d\n", bold(r.Namespace), r.Registry, r.Seq)
	default:
		p.printf("%s  %s\n", bold(r.Registry), r.URL)
		p.fields(9, "id", r.ID, "claims", r.Claims, "threshold", fmt.Sprint(r.Threshold))
		p.printFields(9, "root", r.Roots)
	}
	for i := range r.Versions {
		p.printVersion(&r.Versions[i])
	}
	var list [][]any
	for _, it := range r.Items {
		list = append(list, []any{it.Item, it.Version, versionStatus(it.Status, it.Reason), prefixed("locked ", it.Locked), it.Description})
	}
	p.table(list)
	for _, m := range r.Members {
		own := map[bool]string{true: ", yours"}[m.Own]
		p.printf("  key  %s  %s since operation %d%s\n", m.Fingerprint, m.State, m.Added, prose(own))
	}
	p.printNamespaces(r.Namespaces)
	p.printAge(r)
}

func (p *printer) printFields(width int, head string, all []string) {
	for _, text := range all {
		p.field(width, head, text)
	}
}

// versionStatus returns the status of a version and the reason, in a colour.
func versionStatus(status, reason string) style {
	text := prose(words.Quote(status) + prefixed(": ", reason))
	switch status {
	case "ok":
		return good(status)
	case "deprecated":
		return warning(text)
	}
	return bad(text)
}

func (p *printer) printVersion(v *rye.PublishedVersion) {
	var notes []string
	if v.Locked {
		notes = append(notes, "locked here")
	}
	if v.InRange {
		notes = append(notes, "in the range asked for")
	}
	p.printf("%s  %s  %s%s\n", bold(v.Version), versionStatus(v.Status, v.Reason), v.Time, prose(prefixed("  ", strings.Join(notes, ", "))))
	publisher := v.Publisher
	if publisher == v.Author {
		publisher = ""
	}
	var deps []string
	for _, name := range slices.Sorted(maps.Keys(v.Deps)) {
		deps = append(deps, words.Quote(name+"@"+v.Deps[name]))
	}
	p.fields(14, "  description", v.Description, "  author", v.Author, "  publisher", publisher, "  operation", fmt.Sprint(v.Seq), "  size", words.Plural(int(v.Size), "byte"),
		"  sha256", v.SHA256, "  depends on", prose(strings.Join(deps, ", ")), "  needs", prose(v.Needs), "  capabilities", prose(v.Caps))
}

func (p *printer) printNamespaces(all []rye.PublishedNamespace) {
	var list [][]any
	for _, n := range all {
		state := "not fetched yet"
		if n.Seq > 0 {
			state = fmt.Sprintf("at operation %d", n.Seq)
		}
		items := "no catalogue here"
		if n.Items > 0 || n.Complete {
			items = words.Plural(n.Items, "item") + map[bool]string{false: ", in part"}[n.Complete]
		}
		list = append(list, []any{n.Namespace, state, items, notAccepted(n.Accepted)})
	}
	p.table(list)
}

func notAccepted(accepted bool) string { return map[bool]string{false: "not accepted here"}[accepted] }

// printAge prints how recent an answer is.
func (p *printer) printAge(r *rye.Published) {
	switch {
	case r.Contacted:
		p.infof("%s, asked just now%s", r.Registry, prose(prefixed("; its last operation was on ", r.Dated)))
	case r.Verified != "":
		p.infof("last verified state; %s was last asked %s%s", r.Registry, r.Verified, prose(prefixed("; its last operation was on ", r.Dated)))
	default:
		p.infof("last verified state, of unknown age%s", prose(prefixed("; the last operation was on ", r.Dated)))
	}
	if r.Namespace != "" && !r.Complete {
		p.infof("this list is incomplete; get the rest with: rye fetch --catalogue %s", r.Namespace)
	}
	if r.Namespace != "" && !r.Accepted {
		p.infof("%s is not accepted from it here; rye add asks you", r.Namespace)
	}
	for _, w := range r.Warnings {
		p.infof("warning: %s", prose(w))
	}
}

// fetchCatalogues fetches the catalogues of registries, and prints the state of each.
func (t *task) fetchCatalogues(q rye.CatalogueRequest) error {
	all, err := t.w.Registry().Catalogue(t.ctx, t.env.Caller, q)
	if err != nil && len(all) == 0 {
		return err
	}
	perr := each(t.out, all, func(p *printer, i rye.CatalogueInfo) { p.printCatalogue(&i) })
	if err == nil {
		t.out.infof("%s; rye search <words> --registry", words.Plural(len(all), "catalogue"))
	}
	return cmp.Or(perr, err)
}

func (p *printer) printCatalogue(i *rye.CatalogueInfo) {
	if i.Error != "" {
		p.printf("%s  %s\n", bad("FAIL"), prose(strings.TrimSpace(words.Quote(i.Registry)+" "+words.Quote(i.Namespace))+": "+i.Error))
		return
	}
	if i.Seq == 0 {
		p.resultf(false, "%s  %s  nothing published yet\n", i.Registry, i.Namespace)
		return
	}
	whole := good("complete")
	if !i.Complete {
		whole = warning(fmt.Sprintf("%d of %d parts", i.Have, i.Parts))
	}
	old := ""
	if !i.Contacted {
		old = "last verified state"
	}
	p.resultf(false, "%s  %s  %s, %s, %s, last operation on %s%s%s\n", i.Registry, i.Namespace, words.Plural(i.Items, "item"), words.Plural(int(i.Versions), "version"), whole,
		i.Dated, prose(prefixed("; ", old)), prose(prefixed("; ", notAccepted(i.Accepted))))
}

// printOffer prints an item that a registry offers.
func (p *printer) printOffer(h *rye.Hit) {
	o := h.Offer
	var notes []string
	if o.Status != "ok" {
		notes = append(notes, o.Status+prefixed(": ", o.Reason))
	}
	if o.Locked != "" {
		notes = append(notes, "locked "+words.Quote(o.Locked))
	}
	if !o.Accepted {
		notes = append(notes, "not accepted here: rye add asks")
	}
	// rye's own text comes before the publisher's, which could imitate it.
	p.resultf(h.Why != nil, "%.2f%s  %s  %s  %s%s  %s\n", h.Score, mark(h.Guess, false), o.Item, o.Registry, h.Version, prose(prefixed("  [", closed(notes))), h.Description)
	if h.Why != nil {
		p.printWhy(h.Why)
	}
}

func closed(notes []string) string {
	if len(notes) == 0 {
		return ""
	}
	return strings.Join(notes, "; ") + "]"
}
