package control

import "net/http"

// kind says what a request costs, and who may make it.
type kind uint8

const (
	kindShow   kind = iota
	kindDump        // looks at whole tables: few at a time
	kindChange      // not on a read-only socket
)

// route is one path and method. Exactly one of answer and stream is set.
type route struct {
	method, path string
	kind         kind
	help         string
	answer       func(*State, *request) (any, error)
	stream       func(*Server, http.ResponseWriter, *request) error // returns errors only before it wrote anything
}

// routes is every path of the API.
var routes []route

func init() {
	routes = []route{
		{method: "GET", path: "/v1/", help: "this list", answer: listRoutes},
		{method: "GET", path: "/v1/version", help: "versions of the daemon", answer: getVersion},
		{method: "GET", path: "/v1/config", help: "the configuration as it was applied, and changes since", answer: getConfig},
		{method: "GET", path: "/v1/snapshot", help: "everything that is counted", answer: getSnapshot},
		{method: "GET", path: "/v1/counters", help: "every sample of the registry, as Prometheus gets it", answer: getCounters},
		{method: "GET", path: "/v1/vrfs", help: "VRFs; name", answer: getVRFs},
		{method: "GET", path: "/v1/groups", help: "reuseport groups; name", answer: getGroups},
		{method: "GET", path: "/v1/workers", help: "workers; name: POOL or POOL/N", answer: getWorkers},
		{method: "GET", path: "/v1/ports", help: "ports and queues; name", answer: getPorts},
		{method: "GET", path: "/v1/lcores", help: "polling threads", answer: getLcores},
		{method: "GET", path: "/v1/drops", help: "drops by reason; vrf", answer: getDrops},
		{method: "GET", path: "/v1/mib", help: "counters of the kernel's MIB", answer: getMIB},
		{method: "GET", path: "/v1/sockets", kind: kindDump, help: "sockets; name, vrf, limit, after", answer: getSockets},
		{method: "GET", path: "/v1/flows", kind: kindDump, help: "flows; vrf, filter, limit, after", answer: getFlows},
		{method: "GET", path: "/v1/objects", kind: kindDump, help: "names for completion; kind", answer: getObjects},
		{method: "GET", path: "/v1/early-demux", help: "switches; vrf", answer: getEarlyDemux},
		{method: "GET", path: "/v1/sysctl", help: "sysctls; name, vrf", answer: getSysctl},
		{method: "POST", path: "/v1/explain", help: "which socket gets a packet", answer: postExplain},
		{method: "GET", path: "/v1/capture", help: "live capture, pcapng; filter, count, duration", stream: getCapture},
		{method: "GET", path: "/v1/recorder", kind: kindDump, help: "flight recorder, pcapng", stream: getRecorder},
		{method: "PUT", path: "/v1/early-demux", kind: kindChange, help: "turn a switch", answer: putEarlyDemux},
		{method: "PUT", path: "/v1/sysctl", kind: kindChange, help: "set a sysctl", answer: putSysctl},
		{method: "POST", path: "/v1/sockets", kind: kindChange, help: "create a socket", answer: postSocket},
		{method: "POST", path: "/v1/connect", kind: kindChange, help: "connect a socket", answer: postConnect},
		{method: "DELETE", path: "/v1/sockets/{name}", kind: kindChange, help: "close a socket, or all members of a name", answer: deleteSocket},
		{method: "POST", path: "/v1/counters/clear", kind: kindChange, help: "count from now", answer: postClear},
		{method: "POST", path: "/v1/reload", kind: kindChange, help: "apply the configuration file again", answer: postReload},
		{method: "POST", path: "/v1/shutdown", kind: kindChange, help: "drain and stop", answer: postShutdown},
	}
}

// Path is one line of GET /v1/.
type Path struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Help   string `json:"help"`
}

// Paths lists the API, for GET /v1/ and docs/control.md.
func Paths() (all []Path) {
	for _, r := range routes {
		all = append(all, Path{r.method, r.path, r.help})
	}
	return all
}

func listRoutes(_ *State, r *request) (any, error) {
	_, err := r.query()
	return struct {
		Paths []Path `json:"paths"`
	}{Paths()}, err
}
