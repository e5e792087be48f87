// The backend: requests to the server's typed API (described by /api/openapi.json). The exported page has
// ../local/backend.js instead, which computes the same answers in the page. No other module knows which one it uses.
import { Matrix } from "./matrix.js";
import { Problem } from "./problem.js";
import { DEFAULTS, viewRequest } from "./state.js";

// Options, view and proof of the first view come with data.js, so that it needs no request.
const { options, first } = globalThis.anyorderData ?? {},
  opening = first && JSON.stringify(viewRequest({ ...DEFAULTS, text: options.example }));

export const backend = {
  options: async (signal) => options ?? json("GET", "api/options", undefined, signal),
  async view(request, signal) {
    const known = JSON.stringify(request) === opening,
      view = known ? { ...first.view } : await json("POST", "api/view", { ...request, maps: false }, signal);
    for (const name of ["predicted", "kgram", "bayes", "estimated", "truth"]) view[name] = view[name] && new Matrix(view[name]);
    return view;
  },
  // One map: `which` is "pseudo", "difference" or [layer, head].
  async map(request, which, signal) {
    const [layer, head] = Array.isArray(which) ? which : [0, 0],
      map = Array.isArray(which) ? "head" : which;
    return new Matrix(await json("POST", "api/map", { ...request, map, layer, head }, signal));
  },
  async story({ position, ...request }, signal) {
    const known = JSON.stringify(request) === opening && position === first.story.position;
    return known ? first.story : json("POST", "api/story", { ...request, position }, signal);
  },
  probes: (signal) => json("GET", "api/probes", undefined, signal),
  probe: (path, signal) => json("POST", "api/probe", { path }, signal),
  verify: (request, signal) => json("POST", "api/verify", request, signal),
  async dynamics(request, signal) {
    const film = await json("POST", "api/dynamics", request, signal);
    return { ...film, attention: new Matrix(film.attention) };
  },
};

// Returns the server's answer to a request, or throws a `Problem`.
async function json(method, path, body, signal) {
  const headers = body === undefined ? {} : { "content-type": "application/json" };
  const response = await fetch(path, { method, headers, body: JSON.stringify(body), signal });
  const said = await response.json().catch(() => ({ error: `the explorer answered ${response.status}` }));
  if (!response.ok) throw new Problem(said.error ?? `the explorer answered ${response.status}`, said.limit);
  return said;
}
