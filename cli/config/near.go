package config

import "strings"

// nearest returns the word that name was most likely meant to be, or "".
func nearest(name string, words []string) string {
	best, word := 1+max(1, min(3, len(name)/3)), ""
	fold := strings.ToLower(strings.ReplaceAll(name, "-", "_"))
	if len(fold) > 64 {
		return ""
	}
	for _, w := range words {
		if d := distance(fold, strings.ToLower(w)); d < best {
			best, word = d, w
		}
	}
	return word
}

// distance counts the edits between a and b: a letter added, removed, changed,
// or two neighbours swapped (optimal string alignment).
func distance(a, b string) int {
	var row [3][]int
	for i := range row {
		row[i] = make([]int, len(b)+1)
	}
	for j := range row[1] {
		row[1][j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, prev, cur := row[(i+2)%3], row[i%3], row[(i+1)%3]
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
	}
	return row[(len(a)+1)%3][len(b)]
}

// article puts "a" or "an" before s, unless it is a choice of words or a list.
func article(s string) string {
	switch {
	case strings.HasPrefix(s, "list"):
		return "a " + s
	case s == "" || strings.ContainsAny(s, "|/,") || s[0] < 'A':
		return s
	case strings.ContainsRune("aeioAEIO", rune(s[0])):
		return "an " + s
	}
	return "a " + s
}
