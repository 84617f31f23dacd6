package main

import (
	"reflect"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// A note says what the type of a field does not.
type note struct {
	says      string
	pattern   string
	enum      []any
	one       any // the only value
	min, max  *float64
	maxItems  int
	maxLength int
	unique    bool
	keys      string // pattern of a map's names
	as        string // another type in the file than in the program
	must      bool   // always there
	may       bool   // perhaps not there
	either    [][]string
}

func (n note) apply(s *jsonschema.Schema) {
	s.Description, s.Pattern, s.Enum, s.UniqueItems = n.says, n.pattern, n.enum, n.unique
	if n.one != nil {
		s.Const = &n.one
	}
	s.Minimum, s.Maximum = n.min, n.max
	if n.maxItems > 0 {
		s.MaxItems = &n.maxItems
	}
	if n.maxLength > 0 {
		s.MaxLength = &n.maxLength
	}
	if n.keys != "" {
		s.PropertyNames = &jsonschema.Schema{Pattern: n.keys}
	}
	for _, pair := range n.either { // not both
		s.AllOf = append(s.AllOf, &jsonschema.Schema{Not: &jsonschema.Schema{Required: pair}})
	}
}

func number(n float64) *float64 { return &n }

// nameOf returns the name of a field in the file, whether it may be absent, and whether its own fields stand in
// its place.
func nameOf(f reflect.StructField) (name string, optional, inline bool) {
	tag, has := f.Tag.Lookup("yaml")
	if !has {
		kind := f.Type.Kind()
		return strings.ToLower(f.Name), kind == reflect.Pointer || kind == reflect.Map || kind == reflect.Slice, false
	}
	name, rest, _ := strings.Cut(tag, ",")
	return name, strings.Contains(rest, "omitempty"), strings.Contains(rest, "inline")
}

const (
	hex64       = `^[0-9a-f]{64}$`
	hexID       = `^([0-9a-f]{40}|[0-9a-f]{64})$`
	sum         = `^sha256:[0-9a-f]{64}$`
	fingerprint = `^SHA256:[A-Za-z0-9+/]{43}$`
	segment     = `[a-z0-9_][a-z0-9_.-]*`
	kinds       = `(directive|tool|knowledge|config|bundle)`
	ref         = `^` + kinds + `:` + segment + `(/` + segment + `)*$`
	published   = `^` + segment + `(/` + segment + `)+$`
	namespace   = `^[a-z0-9_][a-z0-9_-]*$`
	tier        = `^t[0-4]$`
)

var tiers = []any{"t0", "t1", "t2", "t3", "t4"}

var projectNotes = map[string]note{
	"format":                 {says: "Always 1.", one: 1},
	"project":                {says: "The project's id, made once by rye init.", pattern: `^[0-9a-f]{32}$`},
	"namespace":              {says: "The namespace of new items.", pattern: namespace},
	"registries":             {says: "Registries that the project proposes, by name.", keys: namespace},
	"registries.*":           {says: "A registry."},
	"registries.*.url":       {says: "Its address, which may change."},
	"registries.*.mirrors":   {says: "Further addresses, in the order in which they are asked.", maxItems: 16},
	"registries.*.mirrors.*": {says: "An address."},
	"registries.*.id":        {says: "Its identity, which does not change.", pattern: sum},
	"registries.*.roots":     {says: "The fingerprints of its root keys."},
	"registries.*.roots.*":   {says: "A fingerprint.", pattern: fingerprint},
	"scopes":                 {says: "The registry for a namespace, or for * all others.", keys: `^(\*|[a-z0-9_][a-z0-9_-]*)$`},
	"scopes.*":               {says: "The name of a registry.", pattern: namespace},
	"overrides":              {says: "Items of reserved or bound namespaces that others stand for."},
	"overrides.*.ref":        {says: "The item.", pattern: ref},
	"overrides.*.signer":     {says: "The key that signs the other item.", pattern: fingerprint},
	"deps":                   {says: "Published items that the project uses, with ranges of versions.", keys: published},
	"deps.*":                 {says: "A range, such as ^1.0."},
	"exports":                {says: "Clients that get copies by rye export.", maxItems: 64},
	"exports.*":              {says: "A client, such as claude-code."},
}

var lockNotes = map[string]note{
	"lock":                  {says: "The format.", one: 1},
	"stdlib":                {says: "The standard library in use."},
	"stdlib.version":        {says: "Its version."},
	"stdlib.manifest":       {says: "The digest of its manifest.", pattern: sum},
	"stdlib.commit":         {says: "The commit that holds it.", pattern: hexID, may: true},
	"registries":            {says: "The registries that items came from, by name."},
	"registries.*.id":       {says: "The identity of the registry.", pattern: sum},
	"registries.*.url":      {says: "Where it was found."},
	"namespaces":            {says: "How far the logs of namespaces were seen.", keys: namespace},
	"namespaces.*.registry": {says: "The name of the registry."},
	"namespaces.*.seq":      {says: "The number of the operation.", min: number(0)},
	"namespaces.*.tip":      {says: "Its commit.", pattern: hexID},
	"namespaces.*.sha256":   {says: "The digest of that commit.", pattern: hex64},
	"items":                 {says: "The locked items, by kind and id.", keys: ref},
	"items.*":               {says: "An item: from a registry, or of a space."},
	"items.*.from":          {says: "The registry that it came from.", may: true},
	"items.*.space":         {says: "The space that it lies in.", enum: []any{"project", "system"}, may: true},
	"items.*.version":       {says: "Its version.", may: true},
	"items.*.path":          {says: "Its path below .ai."},
	"items.*.sha256":        {says: "The digest of the whole file.", pattern: hex64},
	"items.*.blob":          {says: "The git id of the file.", pattern: hexID, may: true},
	"items.*.commit":        {says: "The commit of its content.", pattern: hexID, may: true},
	"items.*.author":        {says: "The key that signed it.", pattern: fingerprint, may: true},
	"items.*.publisher":     {says: "The key that published it.", pattern: fingerprint, may: true},
	"items.*.needs":         {says: "The needs that it declares."},
	"items.*.needs.read":    {says: "Paths that it reads.", must: true},
	"items.*.needs.write":   {says: "Paths that it writes.", must: true},
	"items.*.needs.net":     {says: "Hosts that it contacts.", must: true},
	"items.*.needs.listen":  {says: "TCP ports at which it serves programs outside."},
	"items.*.needs.rye":     {says: "Capabilities of rye that it uses."},
	"items.*.capability":    {says: "The digest of its needs and permissions.", pattern: hex64, may: true},
	"items.*.chain":         {says: "The items that run it, the nearest first.", maxItems: 256},
	"items.*.chain.*":       {says: "An item.", pattern: ref},
	"items.*.around":        {says: "The digest of the files that it can load.", pattern: hex64, may: true},
	"origins":               {says: "Where bundles came from. A copy: the signed manifest of each decides.", keys: ref},
	"origins.*.source":      {says: "The address of the source."},
	"origins.*.ref":         {says: "The branch or tag, by its full name.", may: true},
	"origins.*.commit":      {says: "The commit.", pattern: hexID, may: true},
	"origins.*.path":        {says: "The folder in the source.", may: true},
	"origins.*.tree_sha256": {says: "OpenAPM's digest of the content.", pattern: hex64},
}

var policyNotes = map[string]note{
	"":                                    {either: [][]string{{"deny_from", "deny_above"}}},
	"policy":                              {says: "The format.", one: 1},
	"auto_approve_up_to":                  {says: "Up to this tier nobody is asked.", as: "string", enum: tiers},
	"deny_from":                           {says: "From this tier on nobody can allow it.", as: "string", enum: tiers},
	"deny_above":                          {says: "Above this tier nobody can allow it. Use deny_from.", as: "string", enum: tiers},
	"approval_timeout_secs":               {says: "Seconds that a question waits for its answer.", min: number(1), max: number(86400)},
	"allow_legacy":                        {says: "Signatures of RYE OS may be used."},
	"older":                               {says: "Nothing older than the newest recorded version is used.", one: "refuse"},
	"stale":                               {says: "Nothing from a registry whose state is no longer fresh is taken.", one: "refuse"},
	"min_age":                             {says: "Published versions younger than this are not taken anew.", pattern: `^[1-9][0-9]{0,3}[hd]$`},
	"min_age_except":                      {says: "Namespaces and items without that age."},
	"min_age_except.*":                    {says: "acme/*, or a published item."},
	"unprotected":                         {says: "Tools may write a project whose .ai and .git cannot be protected. The user's policy only.", one: "allow"},
	"deny":                                {says: "Capabilities that nobody has."},
	"deny.*":                              {says: "A capability, such as rye.execute.tool.acme.wipe*."},
	"callers":                             {says: "The capabilities that callers have at most, by name."},
	"callers.*":                           {says: "Capabilities."},
	"callers.*.*":                         {says: "A capability."},
	"tool_overrides":                      {says: "Tiers of tools, by id; * is any text."},
	"tool_overrides.*":                    {says: "A tier.", as: "string", enum: tiers},
	"dangerous_patterns":                  {says: "Further dangerous texts in commands."},
	"dangerous_patterns.*.pattern":        {says: "A regular expression (RE2)."},
	"dangerous_patterns.*.label":          {says: "Its name in questions."},
	"dangerous_patterns.*.tier":           {says: "Its tier; t4 without one.", as: "string", enum: tiers},
	"sub_agent_policy":                    {says: "Tiers for threads that threads start.", either: [][]string{{"deny_from", "deny_above"}}},
	"sub_agent_policy.auto_approve_up_to": {says: "Up to this tier nobody is asked.", as: "string", enum: tiers},
	"sub_agent_policy.deny_from":          {says: "From this tier on nobody can allow it.", as: "string", enum: tiers},
	"sub_agent_policy.deny_above":         {says: "Above this tier nobody can allow it. Use deny_from.", as: "string", enum: tiers},
	"sandbox":                             {says: "The least sandbox.", enum: []any{"S0", "S1", "S2", "S3"}},
	"net":                                 {says: "Addresses of requests that rye makes itself."},
	"net.allow":                           {says: "Addresses that may be reached, beside public ones."},
	"net.allow.*":                         {says: "A host, an address or a range, with or without a port."},
	"net.deny":                            {says: "Addresses that may not be reached."},
	"net.deny.*":                          {says: "A host, an address or a range, with or without a port."},
	"net.proxy":                           {says: "The proxies of the environment are used."},
	"locked_only":                         {says: "Tools run as the lock pins them, or not at all."},
	"fail_on_drift":                       {says: "What the lock pins is used as pinned, or not at all."},
	"require_origin":                      {says: "What the user did not write needs a source that others can reach."},
	"require_review":                      {says: "An owner of its namespace signed each item."},
	"allowed_sources":                     {says: "Addresses that content may come from.", maxItems: policyMaxAddresses},
	"allowed_sources.*":                   {says: "A scheme, a host and the beginning of a path; or file:.", pattern: `^(file:|[a-zA-Z+]+://[^/\s?#%\\]+(/[^\s?#%\\]*)?)$`},
	"elicitation":                         {says: "MCP clients that show a question to a person. The user's policy only.", unique: true},
	"elicitation.*":                       {says: "The name of a client.", maxLength: 200},
	"allowed":                             {says: "Approvals; written by rye policy allow. The user's policy only."},
	"allowed.*.ref":                       {says: "The tool.", pattern: ref},
	"allowed.*.plan":                      {says: "The digest of everything that runs.", pattern: `^[0-9a-f]{64}$`},
	"allowed.*.place":                     {says: "The record of the directory."},
	"allowed.*.inode":                     {says: "The inode of the directory.", min: number(0)},
	"allowed.*.born":                      {says: "The birth time of the directory."},
	"allowed.*.params":                    {says: "The digest of the parameters, or any.", pattern: `^(any|[0-9a-f]{64})$`},
	"allowed.*.tier":                      {says: "The highest tier that it covers.", as: "string", enum: tiers},
}
