"""The routes of the API: each computes outside the event loop and answers with a type of `schema`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel
from pydantic_core import to_json

from anyorder.constructions.price import PricePanel, panels
from anyorder.constructions.registry import CONSTRUCTIONS
from anyorder.constructions.verify import verify
from anyorder.errors import require
from anyorder.estimators.registry import ESTIMATORS
from anyorder.io.numerics import DTYPES
from anyorder.web import limits, probe, schema
from anyorder.web.films import film
from anyorder.web.jobs import CheckCancelled, Work
from anyorder.web.library import plans
from anyorder.web.proof import tell
from anyorder.web.tours import offered
from anyorder.web.view import Explorer

_REFUSALS: dict[int | str, dict[str, object]] = {
    400: {"model": schema.Problem, "description": "a body that cannot be read"},
    403: {"model": schema.Problem, "description": "a path outside the folders of this explorer"},
    405: {"model": schema.Problem, "description": "a method that the path does not support"},
    413: {"model": schema.Problem, "description": "a body larger than the limit"},
    421: {"model": schema.Problem, "description": "a name of another host"},
    422: {"model": schema.Problem, "description": "a value beyond a limit, or a combination that makes no model"},
    429: {"model": schema.Problem, "description": "all places are taken; try again"},
}


def routes(explorer: Explorer, quick: Work, long: Work) -> APIRouter:
    """Every route, over one explorer and two pools of work."""
    router = APIRouter(prefix="/api", responses=_REFUSALS)

    async def answer(
        request: Request, work: Work, job: Callable[[CheckCancelled], BaseModel | Sequence[BaseModel]]
    ) -> Response:
        def run(check: CheckCancelled) -> bytes:
            try:
                return to_json(job(check), inf_nan_mode="null")
            finally:
                explorer.tidy()

        return Response(await work.do(request, run), media_type="application/json")

    @router.get("/options", response_model=schema.Options, summary="Available choices")
    async def options(request: Request) -> Response:
        return await answer(request, quick, lambda check: choices(explorer))

    @router.post("/view", response_model=schema.View, summary="Run a model on a sequence")
    async def view(request: Request, asked: schema.ViewRequest) -> Response:
        return await answer(request, quick, lambda check: explorer.view(asked, check))

    @router.post("/map", response_model=schema.Matrix, summary="One attention map of a view")
    async def attention_map(request: Request, asked: schema.MapRequest) -> Response:
        return await answer(request, quick, lambda check: explorer.map(asked, check))

    @router.post("/story", response_model=schema.Story, summary="The proof at one position")
    async def story(request: Request, asked: schema.StoryRequest) -> Response:
        return await answer(request, quick, lambda check: story_at(explorer, asked, check))

    @router.post("/verify", response_model=schema.Verified, summary="A construction on hard sequences")
    async def verification(request: Request, asked: schema.VerifyRequest) -> Response:
        return await answer(request, long, lambda check: verified(asked, check))

    @router.post("/dynamics", response_model=schema.Film, summary="A run of Algorithm 1 or 2, as frames")
    async def play(request: Request, asked: schema.DynamicsRequest) -> Response:
        return await answer(request, long, lambda check: film(asked, explorer.library, check))

    @router.get("/probes", response_model=list[probe.ProbeInfo], summary="Results of the probe that can be opened")
    async def probes(request: Request) -> Response:
        return await answer(request, quick, lambda check: probe.listed(explorer.library))

    @router.post("/probe", response_model=probe.ProbeView, summary="One result of the probe")
    async def probed(request: Request, asked: probe.ProbeRequest) -> Response:
        return await answer(request, quick, lambda check: probe.opened(explorer.library, asked.path))

    return router


def choices(explorer: Explorer) -> schema.Options:
    """The registry, the dtypes, the stored models and the limits."""
    stored, left_out = explorer.library.listed()
    return schema.Options(
        constructions=[
            schema.ConstructionInfo.model_validate(entry, from_attributes=True) for entry in CONSTRUCTIONS.values()
        ],
        dtypes=list(DTYPES),
        estimators={name: entry.meaning for name, entry in ESTIMATORS.items()},
        stored=stored,
        left_out=left_out,
        limits={
            "tokens": limits.MOST_TOKENS,
            "symbols": limits.MOST_SYMBOLS,
            "order": limits.MOST_ORDER,
            "dimension": limits.MOST_DIMENSION,
            "length": limits.MOST_LENGTH,
            "steps": limits.MOST_STEPS,
            "coldest": limits.COLDEST,
            "warmest": limits.WARMEST,
        },
        example=schema.EXAMPLE,
        price=prices(),
        tours=offered(explorer.tour),
        opening=explorer.tour and explorer.tour.name,
        features=["noise", "verify", "fresh"],
    )


@functools.cache
def prices() -> list[PricePanel]:
    """The figure of `anyorder price`, as numbers.

    >>> [panel.title for panel in prices()]
    ['T = 1024', 'k = 3']
    """
    return panels(order=3, alphabet_size=2, length=1024)


def story_at(explorer: Explorer, asked: schema.StoryRequest, check: CheckCancelled) -> schema.Story:
    """The story of the requested model, read off its trace."""
    traced = explorer.traced(asked, check)
    require(
        asked.position < traced.length,
        f"position is {asked.position}, the sequence has positions 0 to {traced.length - 1}; choose one of them",
    )
    return tell(traced, asked.position)


def verified(asked: schema.VerifyRequest, check: CheckCancelled) -> schema.Verified:
    """Verify the construction on hard sequences, one after the other, so that a disconnected client stops it."""
    _, made = plans(asked.model, asked.model.alphabet_size or asked.alphabet_size, asked.length)
    found = verify(made, sequences=asked.sequences, seed=asked.seed, force=True, check=check)
    return schema.Verified.model_validate(found, from_attributes=True)
