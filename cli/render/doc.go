// Package render writes the answers of the daemon for people: the only place
// that lays out tables, switches, explanations and the views of `edemux top`.
//
// Job: text from the types of package control. Numbers are exact, so that they
// can be compared with the JSON of the same snapshot; only `top` shortens them.
// Order: as the daemon sent it. Widths are columns of the terminal; a table too
// wide for them is folded, never cut. Threads: functions of their arguments.
package render
