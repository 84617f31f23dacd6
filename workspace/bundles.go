package workspace

import (
	"context"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/workspace/internal/export"
	"github.com/rye-os/rye/workspace/internal/look"
)

// Bundles are the verbs about directories that are signed as one.
type Bundles struct{ *rooms }

// Bundles returns the verbs about directories that are signed as one.
func (w *Workspace) Bundles() Bundles { return Bundles{&w.rooms} }

// Verify checks a bundle: its manifest's signature and trust, and every file of its
// directory. The description is returned with the error.
func (g Bundles) Verify(ctx context.Context, c rye.Caller, q rye.BundleVerifyRequest) (*rye.BundleInfo, error) {
	return do(ctx, c, "bundle.verify", g.enter, look.VerifyBundle, q)
}

// ExportPlain writes the project's verified items, without their signature lines, into a new
// folder. The report is returned beside an error when items were refused.
func (g Bundles) ExportPlain(ctx context.Context, c rye.Caller, q rye.PlainExport) (*rye.PlainExported, error) {
	return do(ctx, c, "export.plain", g.enter, export.Plain, q)
}

// Export writes the files of a verified skill into a new folder, byte for byte.
func (g Bundles) Export(ctx context.Context, c rye.Caller, q rye.SkillExport) (*rye.SkillExported, error) {
	return do(ctx, c, "bundle.export", g.enter, export.SkillFiles, q)
}

// ToClients writes, compares, takes back or removes the copies of skills, commands, agents and
// rules in the directories of clients. The report is returned beside an error when copies differ.
func (g Bundles) ToClients(ctx context.Context, c rye.Caller, q rye.ClientExport) (*rye.ClientExported, error) {
	open := g.working(g.of(q.Space))
	if q.Check {
		open = g.working(g.enter)
	}
	return do(ctx, c, "export", open, export.Export, q)
}

// Plugin writes a folder that is a plugin for several clients.
func (g Bundles) Plugin(ctx context.Context, c rye.Caller, q rye.PluginExport) (*rye.PluginExported, error) {
	return do(ctx, c, "export", g.project, export.Plugin, q)
}

// Site writes the project's verified skills as a web site with an index. The report is returned beside
// an error when skills were left out or files differ.
func (g Bundles) Site(ctx context.Context, c rye.Caller, q rye.SiteExport) (*rye.SiteExported, error) {
	return do(ctx, c, "export", g.enter, export.Site, q)
}

// Clients lists the clients that copies are written for.
func (g Bundles) Clients(ctx context.Context, c rye.Caller) ([]rye.ExportClient, error) {
	return do(ctx, c, "export", g.enter, export.Clients, struct{}{})
}

// List describes every bundle of the project and the user space.
func (g Bundles) List(ctx context.Context, c rye.Caller) ([]rye.BundleInfo, error) {
	s, err := g.enter(c, "bundle.list")
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return look.Bundles(ctx, s)
}
