package main

import (
	"github.com/rye-os/rye/chain/policy"
	"github.com/rye-os/rye/objects"
)

const policyMaxAddresses = policy.MaxAddresses

// manifestFile has the fields of a manifest. objects reads it line by line, in one exact form, so it has no type
// for it; the test compares this one with that reader.
type manifestFile struct {
	Format int `yaml:"format"`
	Bundle struct {
		ID      string `yaml:"id"`
		Version string `yaml:"version"`
	} `yaml:"bundle"`
	Origin *struct {
		Source string `yaml:"source"`
		Ref    string `yaml:"ref,omitempty"`
		Commit string `yaml:"commit,omitempty"`
		Path   string `yaml:"path,omitempty"`
		Root   string `yaml:"root,omitempty"`
		Entry  string `yaml:"entry,omitempty"`
		Listed string `yaml:"listed,omitempty"`
		Tree   string `yaml:"tree"`
		Sum    string `yaml:"tree_sha256"`
	} `yaml:"origin,omitempty"`
	Needs *struct {
		Read   []string `yaml:"read"`
		Write  []string `yaml:"write"`
		Net    []string `yaml:"net"`
		Listen []string `yaml:"listen,omitempty"`
		Rye    []string `yaml:"rye,omitempty"`
	} `yaml:"needs,omitempty"`
	Deps  map[string]string `yaml:"deps,omitempty"`
	Files []struct {
		Path string `yaml:"path"`
		Mode string `yaml:"mode"`
		Size int64  `yaml:"size"`
		Sum  string `yaml:"sha256"`
	} `yaml:"files"`
}

var manifestNotes = map[string]note{
	"format":             {says: "1, or 2 where the content needs it.", enum: []any{1, 2}},
	"bundle":             {says: "The bundle."},
	"bundle.id":          {says: "<namespace>/bundle/<name>", pattern: `^[a-z0-9_][a-z0-9_-]*/bundle(/` + segment + `)+$`},
	"bundle.version":     {says: "A semantic version.", pattern: `^[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]+)?$`},
	"origin":             {says: "Where the content came from."},
	"origin.source":      {says: "An address without credentials.", maxLength: 2048, pattern: `^[^\s-][^\s]*:[^\s]*$`},
	"origin.ref":         {says: "A branch or a tag.", pattern: `^refs/(heads|tags)/.`, maxLength: 255},
	"origin.commit":      {says: "The commit.", pattern: hexID},
	"origin.path":        {says: "The folder of the content below the root of the source.", maxLength: 1024},
	"origin.root":        {says: "The folder that was added, below the root of the source.", maxLength: 1024},
	"origin.entry":       {says: "The main file that was named, of a folder of programs.", maxLength: 1024},
	"origin.listed":      {says: "What the entry of a marketplace says about the plugin, as a JSON object.", maxLength: 16384, pattern: `^\{[ -~]*\}$`},
	"origin.tree":        {says: "The git tree id of the content as it came.", pattern: `^[0-9a-f]{40}$`},
	"origin.tree_sha256": {says: "OpenAPM's tree_sha256 of the content as it came.", pattern: hex64},
	"needs":              {says: "What the bundle's programs need."},
	"needs.read":         {says: "Paths that they read.", maxItems: 64, unique: true},
	"needs.write":        {says: "Paths that they write.", maxItems: 64, unique: true},
	"needs.net":          {says: "Hosts that they contact.", maxItems: 64, unique: true},
	"needs.listen":       {says: "TCP ports at which they serve programs outside.", maxItems: 64, unique: true},
	"needs.rye":          {says: "Capabilities of rye that they use.", maxItems: 64, unique: true},
	"deps":               {says: "Published items that the bundle uses, with ranges.", keys: published},
	"files":              {says: "Every file of the bundle, sorted by path.", maxItems: objects.MaxBundleFiles},
	"files.*.path":       {says: "The path below the directory of the manifest.", maxLength: 512},
	"files.*.mode":       {says: "0755 for a program.", enum: []any{"0644", "0755"}},
	"files.*.size":       {says: "Bytes.", min: number(0), max: number(objects.MaxBundleFile)},
	"files.*.sha256":     {says: "The digest of the file.", pattern: hex64},
}
