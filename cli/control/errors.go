package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// Error is a refusal: a code for programs, a sentence for people.
type Error struct {
	Status  int    `json:"-"` // of HTTP
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (e *Error) Error() string { return e.Message }

// Codes of errors.
const (
	CodeBadRequest  = "bad_request" // malformed path, query or body
	CodeNotFound    = "not_found"   // no such path
	CodeMethod      = "method_not_allowed"
	CodeReadOnly    = "read_only"         // this socket changes nothing
	CodeNoSuch      = "no_such_object"    // a VRF, socket, ... of that name
	CodeRefused     = "refused"           // Linux would refuse it, or the values are wrong
	CodeConfig      = "bad_configuration" // reload: the file is wrong
	CodeRestart     = "needs_restart"     // reload: the change cannot be made live
	CodeTooLarge    = "too_large"
	CodeBusy        = "busy"          // as many such requests run as may
	CodeGone        = "snapshot_gone" // asked for a snapshot that is kept no more
	CodeShutdown    = "shutting_down"
	CodeUnavailable = "unavailable" // not there in this daemon
	CodeInternal    = "internal"
)

func errorf(status int, code, format string, args ...any) *Error {
	return &Error{Status: status, Code: code, Message: fmt.Sprintf(format, args...)}
}

func badRequest(format string, args ...any) *Error {
	return errorf(http.StatusBadRequest, CodeBadRequest, format, args...)
}

func noSuch(format string, args ...any) *Error {
	return errorf(http.StatusNotFound, CodeNoSuch, format, args...)
}

// refused wraps what the engine or the configuration refuses.
func refused(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return errorf(http.StatusConflict, CodeRefused, "%v", err)
}

// errorBody is the JSON of a refusal.
type errorBody struct {
	Error *Error `json:"error"`
}

func writeError(w http.ResponseWriter, e *Error) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if e.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(e.Status)
	_ = json.NewEncoder(w).Encode(errorBody{e}) // the client is gone or it is not
}
