package primitive

// Foresee says which tier a program would get in this sandbox, and what would not bind, as
// Result does after the run: so that a person who is asked before it knows.
func Foresee(s Sandbox) (Tier, []string) {
	if s.Tier == 0 {
		s.Tier = Best()
	}
	c := &Call{Sandbox: s}
	if s.Tier >= S3 {
		return s.Tier, unboundBy(&s, true)
	}
	return s.Tier, unbound(c, &box{tier: s.Tier, trace: tracing()})
}
