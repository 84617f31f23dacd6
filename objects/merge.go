package objects

// MergeConfig puts one configuration over another (docs/format/config.md): maps are merged,
// key by key; of two lists in which each entry is a map with an id of its own, an entry of
// over takes the place of the one with its id, or stands behind; everything else of over
// takes the place of what base has. Neither is changed, and the result shares nothing with
// them. Values are those of Meta.Config: map[string]any, []any, and what has no parts.
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

// mergeByID merges two lists by the ids of their entries; nil where one of them is not such
// a list.
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

// idsOf says where in a list each id stands; nil for one that is empty, or has an entry
// without an id, or an id twice.
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

// idOf is the id of an entry of a list; "" where it has none.
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
