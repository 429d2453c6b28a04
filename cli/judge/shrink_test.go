package judge

import "slices"

// shrink removes steps from a failing scenario as long as it fails. limit
// bounds the number of trials.
func shrink(s *Scenario, limit int) (*Scenario, *Disagreement) {
	best := *s
	var last *Disagreement
	fails := func(steps []Step) bool {
		limit--
		d, err := Run(&Scenario{s.Name, s.Net, steps})
		if err == nil && d != nil {
			best.Steps, last = slices.Clone(steps[:d.Step+1]), d
		}
		return err == nil && d != nil
	}
	if !fails(best.Steps) {
		return s, nil
	}
	for size := len(best.Steps) / 2; size > 0 && limit > 0; {
		cut := false
		for at := 0; at < len(best.Steps)-1 && limit > 0; {
			end := min(at+size, len(best.Steps)-1) // the last step is the one that fails
			if fails(slices.Delete(slices.Clone(best.Steps), at, end)) {
				cut = true
			} else {
				at = end
			}
		}
		if !cut {
			size /= 2
		}
	}
	return &best, last
}
