"""The two clients: every route of the service as a method."""

from variegate.client.async_sender import AsyncSender
from variegate.client.routes import items as item_routes
from variegate.client.routes import lists, operation, priors, users
from variegate.client.sender import Sender
from variegate.client.sending import method


class Client(Sender):
    """Asks the service, and waits for its answer; usable from several threads.

    Connection errors, time-outs, 429 and 503 are tried again, after growing pauses drawn at
    random, wherever a call made twice is the same as once; `recommend` only where the service
    surely did not take it in. What is never answered raises StoreError.

    Parameters
    ----------
    url
        The service's address, such as http://127.0.0.1:8000.
    key
        As `variegate keys make` printed it; None for a service without keys.
    timeout
        Seconds that the service may be silent.
    retries
        Attempts after the first.
    deadline
        Seconds for a call with all its attempts and pauses. An export, once begun, has none.
    backoff
        Seconds of the first pause, at most; it doubles with each attempt.
    http
        An `httpx2.Client` of yours, for certificates or proxies; you close it.

    Examples
    --------
    ::

        with Client("http://127.0.0.1:8000") as client:
            slate = client.recommend("ana", k=5)
            client.feedback(slate, {slate.ids[0]: 1})
    """

    recommend = method(lists.recommend, Sender.ask)
    feedback = method(lists.feedback, Sender.ask)
    user = method(users.user, Sender.ask)
    history = method(users.history, Sender.pages)
    forget = method(users.forget, Sender.ask)
    export_users = method(users.export_users, Sender.lines)
    import_users = method(users.import_users, Sender.total)
    catalogue = method(item_routes.catalogue, Sender.ask)
    items = method(item_routes.items, Sender.pages)
    item = method(item_routes.item, Sender.ask)
    add_items = method(item_routes.add_items, Sender.ask)
    change_item = method(item_routes.change_item, Sender.ask)
    retire_item = method(item_routes.retire_item, Sender.ask)
    report = method(operation.report, Sender.ask)
    prior = method(priors.prior, Sender.ask)
    fit_prior = method(priors.fit_prior, Sender.ask)
    drop_prior = method(priors.drop_prior, Sender.ask)
    metrics = method(operation.metrics, Sender.ask)
    ping = method(operation.ping, Sender.ask)
    alive = method(operation.alive, Sender.probe)
    ready = method(operation.ready, Sender.probe)


class AsyncClient(AsyncSender):
    """Asks the service from asyncio: as `Client`, with `await` and `async for`.

    Parameters are those of `Client`; `http` is an `httpx2.AsyncClient`.

    Examples
    --------
    ::

        async with AsyncClient("http://127.0.0.1:8000") as client:
            slate = await client.recommend("ana", k=5)
            async for past in client.history("ana"): ...
    """

    recommend = method(lists.recommend, AsyncSender.ask)
    feedback = method(lists.feedback, AsyncSender.ask)
    user = method(users.user, AsyncSender.ask)
    history = method(users.history, AsyncSender.pages)
    forget = method(users.forget, AsyncSender.ask)
    export_users = method(users.export_users, AsyncSender.lines)
    import_users = method(users.import_users, AsyncSender.total)
    catalogue = method(item_routes.catalogue, AsyncSender.ask)
    items = method(item_routes.items, AsyncSender.pages)
    item = method(item_routes.item, AsyncSender.ask)
    add_items = method(item_routes.add_items, AsyncSender.ask)
    change_item = method(item_routes.change_item, AsyncSender.ask)
    retire_item = method(item_routes.retire_item, AsyncSender.ask)
    report = method(operation.report, AsyncSender.ask)
    prior = method(priors.prior, AsyncSender.ask)
    fit_prior = method(priors.fit_prior, AsyncSender.ask)
    drop_prior = method(priors.drop_prior, AsyncSender.ask)
    metrics = method(operation.metrics, AsyncSender.ask)
    ping = method(operation.ping, AsyncSender.ask)
    alive = method(operation.alive, AsyncSender.probe)
    ready = method(operation.ready, AsyncSender.probe)
