package objects

// MergeConfig puts one configuration over another (docs/format/config.md). Maps are merged key
// by key. In two lists of maps with unique ids, an entry of over replaces the entry with its
// id, or is appended. Every other value of over replaces the one in base. Neither argument
// changes, and the result shares nothing with them. Values are as in Meta.Config:
// map[string]any, []any and scalars.
func MergeConfig(base, over map[string]any) map[string]any {
	out := make(map[string]any, len(base)+len(over))
	for k, v := range base {
		if _, ok := over[k]; !ok {
			out[k] = cloneValue(v)
		}
	}
	for k, v := range over {
		out[k] = mergeValue(base[k], v)
	}
	return out
}

func mergeValue(base, over any) any {
	switch o := over.(type) {
	case map[string]any:
		if b, ok := base.(map[string]any); ok {
			return MergeConfig(b, o)
		}
	case []any:
		if b, ok := base.([]any); ok {
			if merged := mergeByID(b, o); merged != nil {
				return merged
			}
		}
	}
	return cloneValue(over)
}

// mergeByID merges two lists by the ids of their entries. It returns nil when either list is
// empty, or has an entry without a unique id.
func mergeByID(base, over []any) []any {
	at, inOver := idsOf(base), idsOf(over)
	if at == nil || inOver == nil {
		return nil
	}
	out := make([]any, len(base), len(base)+len(over))
	for i, e := range base {
		out[i] = e
		if j, ok := inOver[idOf(e)]; ok {
			out[i] = over[j]
		}
	}
	for _, e := range over {
		if _, ok := at[idOf(e)]; !ok {
			out = append(out, e)
		}
	}
	return cloneValue(out).([]any)
}

// idsOf returns the index of each id in a list. It returns nil for an empty list, and for one
// with a missing or repeated id.
func idsOf(list []any) map[string]int {
	at := make(map[string]int, len(list))
	for i, e := range list {
		id := idOf(e)
		if _, twice := at[id]; twice || id == "" {
			return nil
		}
		at[id] = i
	}
	if len(at) == 0 {
		return nil
	}
	return at
}

// idOf returns the id of a list entry, or "" when it has none.
func idOf(e any) string {
	m, ok := e.(map[string]any)
	if !ok {
		return ""
	}
	id, _ := m["id"].(string)
	return id
}

func cloneValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = cloneValue(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = cloneValue(e)
		}
		return out
	}
	return v
}
