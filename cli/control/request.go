package control

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// request reads a request strictly: unknown parameters and fields are mistakes.
type request struct{ *http.Request }

// query returns the parameters, which must be among known and given once.
func (r *request) query(known ...string) (url.Values, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, badRequest("query: %v", err)
	}
	for k, v := range q {
		switch {
		case !slices.Contains(known, k) && len(known) == 0:
			return nil, badRequest("unknown parameter %q: there is none here", k)
		case !slices.Contains(known, k):
			return nil, badRequest("unknown parameter %q: there are %s", k, strings.Join(known, ", "))
		case len(v) > 1:
			return nil, badRequest("parameter %s: given twice", k)
		}
	}
	return q, nil
}

// body decodes the JSON body into v. An empty one leaves v as it is.
func (r *request) body(v any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = errors.New("more than one JSON value")
		}
	}
	var large *http.MaxBytesError
	switch {
	case err == nil, err == io.EOF:
		return nil
	case errors.As(err, &large):
		return errorf(http.StatusRequestEntityTooLarge, CodeTooLarge, "body: more than %d bytes", large.Limit)
	}
	return badRequest("body: %v", strings.TrimPrefix(err.Error(), "json: "))
}

// number reads a parameter from low to high; absent is 0.
func number(q url.Values, key string, low, high int) (int, error) {
	s := q.Get(key)
	if s == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < low || n > high {
		return 0, badRequest("%s: %q: want a number from %d to %d", key, s, low, high)
	}
	return n, nil
}

func duration(q url.Values, key string, most time.Duration) (time.Duration, error) {
	s := q.Get(key)
	if s == "" {
		return most, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 || d > most {
		return 0, badRequest("%s: %q: want a time such as 10s, at most %s", key, s, most)
	}
	return d, nil
}

// snapshot takes the snapshot that the request names, else a new one.
func (r *request) snapshot(s *State, known ...string) (*Snapshot, url.Values, error) {
	q, err := r.query(append(known, "snapshot")...)
	if err != nil {
		return nil, nil, err
	}
	var id uint64
	if t := q.Get("snapshot"); t != "" {
		if id, err = strconv.ParseUint(t, 10, 64); err != nil || id == 0 {
			return nil, nil, badRequest("snapshot: %q: want the id of an earlier answer", t)
		}
	}
	n, err := s.Snapshot(id)
	return n, q, err
}
