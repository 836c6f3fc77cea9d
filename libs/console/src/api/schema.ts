// The calls of the API as types. Made from the OpenAPI document: do not edit it.
// After a change of the API: node services/ingress/src/api/openapi/write-console-client.ts

export interface paths {
    "/answers/{token}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A question of a session's agent, on a page where it can be answered
         * @description The link works once, as long as its question is open. 404: the link is not one of ours. 410: the question was answered, was superseded by another message, or is over. The answer is a page unless the client asks for JSON.
         */
        get: operations["getAnswersToken"];
        put?: never;
        /**
         * Answer the question; the run continues
         * @description The link works once, as long as its question is open. 404: the link is not one of ours. 410: the question was answered, was superseded by another message, or is over. The answer is a page unless the client asks for JSON.
         */
        post: operations["postAnswersToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/approvals/{token}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A request for approval, on a page where it can be decided
         * @description The link works once, as long as its request is open. 403: the `approvers` of the request do not include `link`. 404: the link is not one of ours. 409: the request has other arguments than those that were read. 410: somebody decided, or it has expired, and the answer says so. The answer is a page unless the client asks for JSON.
         */
        get: operations["getApprovalsToken"];
        put?: never;
        /**
         * Approve or deny the call; the run continues
         * @description The link works once, as long as its request is open. 403: the `approvers` of the request do not include `link`. 404: the link is not one of ours. 409: the request has other arguments than those that were read. 410: somebody decided, or it has expired, and the answer says so. The answer is a page unless the client asks for JSON.
         */
        post: operations["postApprovalsToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/callbacks/{token}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * The answer of an agent of kind http that replied 202, or an interim status
         * @description Goes to the `callback_url` exactly as the agent got it. A repeated answer counts as the first one. 404: the link is not one of ours; 409: a status while no run is working; 410: the turn is over.
         */
        post: operations["postCallbacksToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/chats/{platform}/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Take an update of a chat platform; 200 once it is durable
         * @description Signed by the scheme of the platform. docs/chats.md says how to set it up.
         */
        post: operations["postChatsPlatformName"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The web console
         * @description The same page answers every address below it that is not a file: the page reads the address.
         */
        get: operations["getConsole"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Who is signed in in this browser */
        get: operations["getConsoleSession"];
        put?: never;
        /**
         * Sign a browser in, with the code of a link or with the admin token
         * @description Sets the cookie `angelia_session` for twelve hours. 401 with code `link_expired`: the link was used or is old. 403: a page of another origin sent it, or the page was opened by http from another machine.
         */
        post: operations["postConsoleSession"];
        /** Sign out: this session ends, on every replica within seconds */
        delete: operations["deleteConsoleSession"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The same as /healthz */
        get: operations["getHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Is the process alive? */
        get: operations["getHealthz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** This document */
        get: operations["getOpenapiJson"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Can webhooks be accepted durably? */
        get: operations["getReadyz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/approvals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Open requests for approval of all sessions, the oldest first; a moment behind the log */
        get: operations["getApprovals"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/approvals/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Approve or deny a tool call
         * @description A request is decided once. What runs is what was approved, with exactly these arguments and at most once. 404: there is no such request. 409: it is closed, and the answer says by whom or why.
         */
        post: operations["postApprovalsId"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the chats of the config, and how they are connected */
        get: operations["getChats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chats/{name}/pairings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List who was let in by a code, and the codes that wait */
        get: operations["getChatsNamePairings"];
        put?: never;
        /** Make a one-time code that lets a person or a group in */
        post: operations["postChatsNamePairings"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chats/{name}/pairings/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Revoke a pairing, or a code that was not used */
        delete: operations["deleteChatsNamePairingsId"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chats/{name}/setup": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Register commands and the webhook at the platform
         * @description May be called again, for example after `public_url` has changed.
         */
        post: operations["postChatsNameSetup"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/config/reload": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Read the config file again, and take it if it is good
         * @description It answers for the ingress that gets the call, and asks every other service to read its own file. Runs and webhooks that have begun keep the config that they began with. A wrong file changes nothing. Services also read the file by themselves when it changes, and on SIGHUP.
         */
        post: operations["postConfigReload"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/console/links": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A link that signs a browser in, once, within ten minutes */
        post: operations["postConsoleLinks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/dead-letters": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Events that could not be processed, the newest first, each with the reason
         * @description An outage never creates a dead letter, and a dead letter never blocks later events.
         */
        get: operations["getDeadLetters"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/dead-letters/{id}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Process a dead letter again, after the cause is fixed
         * @description It leaves the list. If it fails again, it becomes a new dead letter.
         */
        post: operations["postDeadLettersIdReplay"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Deliveries, the last changed first; a moment behind the log */
        get: operations["getDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/deliveries/{id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a dead delivery again
         * @description A pending delivery is retried without this call and stays unchanged.
         */
        post: operations["postDeliveriesIdRetry"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/deliveries/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send many dead deliveries again
         * @description A delivery must match all filters; the last changed go first. The list of dead deliveries is a moment behind the log.
         */
        post: operations["postDeliveriesRetry"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/doctor": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Check everything that Angelia depends on, as `angelia doctor` does
         * @description The checks run where ingress runs. They change nothing and send no message to anybody. One run serves all callers for 10 seconds.
         */
        get: operations["getDoctor"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * All events of all sessions, live
         * @description Events come in the order of the log, each once. `Last-Event-ID` continues after that event, also on another server and after a restart. Without it, the feed starts from now. A message without data only tells the place so far.
         */
        get: operations["getEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Jobs, newest first */
        get: operations["getJobs"];
        put?: never;
        /**
         * Do one thing with everything that a filter finds
         * @description With `dry_run` it only counts and shows the first ten. Otherwise one job does it in the background, at a bounded rate. It leaves out what is created or changed after the request. `cancel` concerns sessions that have not ended, `resume` ended ones (`failed` unless `outcome` says otherwise) that nobody has continued, `erase` settled ones.
         */
        post: operations["postJobs"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One job, with its progress or its result */
        get: operations["getJobsId"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Stop a job before its next batch
         * @description What it has done stays done. A repeat changes nothing.
         */
        post: operations["postJobsIdCancel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/overview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What goes on now, and the last hour minute by minute
         * @description Made for a page that many people keep open: one answer serves all callers for some seconds, and its cost depends neither on the length of the log nor on the number of callers. It comes from the views, a moment behind the log.
         */
        get: operations["getOverview"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/processes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Background processes, the last changed first; a moment behind the log */
        get: operations["getProcesses"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/processes/{id}/kill": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End a background process
         * @description Ends the whole process group: SIGTERM, then SIGKILL. If the session asked to be notified, it learns of this end too.
         */
        post: operations["postProcessesIdKill"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/processes/{id}/output": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The output of a background process, as far as it is kept
         * @description stdout and stderr together. 503 if the host of the process does not answer.
         */
        get: operations["getProcessesIdOutput"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/questions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Open questions of all sessions, the oldest first; a moment behind the log */
        get: operations["getQuestions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/routes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** All routes, sorted by name: from the config file and made by API */
        get: operations["getRoutes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/routes/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One route, without its secret */
        get: operations["getRoutesName"];
        /**
         * Create a route, or replace its definition; active on every replica within a second
         * @description The keys are those of a route in the config file, except `script`, `retry_on_script_failure` and `in_file` filters, which are allowed only in the file. Environment variables are not filled in. Toolsets must be a subset of `api_routes.allowed_toolsets`. Without `secret` a new route gets a generated one, which is returned only this once; an existing route keeps its own. The same PUT again changes nothing. Existing sessions do not change.
         */
        put: operations["putRoutesName"];
        post?: never;
        /** Delete a route made by API; its sessions continue */
        delete: operations["deleteRoutesName"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/routes/{name}/rotate-secret": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Give a route made by API a new secret */
        post: operations["postRoutesNameRotateSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/routes/{name}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a route a webhook without a signature
         * @description It passes the same steps as every webhook after the check of its signature: events, filters, script, templates, rate limit and idempotency, so the same test again is a duplicate unless its headers or payload have another delivery id. The actor of `session.created` says that it is a test. Its answer is delivered.
         */
        post: operations["postRoutesNameTest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/routes/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * What a webhook would do with these settings; nothing is stored
         * @description For an editor: wrong settings are an answer, not an error. Filters are judged one by one, and the templates are rendered even if a filter says no. Neither the signature nor a script is tried.
         */
        post: operations["postRoutesPreview"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Sessions, newest first; a moment behind the log
         * @description A page may have fewer items than `limit`, or none, and still a `next_cursor`: then few sessions fit, and there are more to look at. `count` is exact up to 100,000 sessions that were looked at; beyond that it is a lower bound.
         */
        get: operations["getSessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One session, folded from the log; always current */
        get: operations["getSessionsId"];
        put?: never;
        post?: never;
        /**
         * Erase a session: every event and row of it, at once
         * @description For a request of the person that the session is about. The session must be settled, else 409. A continuation has a copy of the conversation and is erased by its own id. A repeat of its webhook is still a duplicate.
         */
        delete: operations["deleteSessionsId"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/answers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Answer an open question of a session
         * @description A question is answered once. 404: the session never asked this question. 409: it is closed, and the answer says by whom or why.
         */
        post: operations["postSessionsIdAnswers"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** End a session now, as `cancelled` */
        post: operations["postSessionsIdCancel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Everything that happened in a session */
        get: operations["getSessionsIdEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Answer the open question, or ask for another turn
         * @description If the session has ended, this opens a continuation and returns its id. A session without an agent (`deliver_only`) answers 409.
         */
        post: operations["postSessionsIdMessages"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Continue an ended session in a continuation
         * @description A session that has not ended continues without this call: 409 says what it waits for.
         */
        post: operations["postSessionsIdResume"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The same events, live */
        get: operations["getSessionsIdStream"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/transcript": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The conversation as the model sees it */
        get: operations["getSessionsIdTranscript"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/system": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The services, how far they are behind, the config in force, and what is down
         * @description One answer serves all callers for some seconds. Its cost does not depend on the length of the log.
         */
        get: operations["getSystem"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Webhooks that started no session, the newest first, each with the reason
         * @description Answers "why did nothing happen?". The last 50 of each route, outcome and reason are kept for at most 7 days; of a flood a few per second are kept. Webhooks that other replicas answered may be a second late. The list does not survive a crash of Postgres: it is for diagnosis, not history.
         */
        get: operations["getWebhooks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/counts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * How many webhooks started no session, by route, outcome and reason
         * @description For all replicas together, since `first_at`; also exported as the metric `angelia_webhooks_total`. A kind that did not occur for 7 days is forgotten.
         */
        get: operations["getWebhooksCounts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhooks/{route}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Take a webhook; 202 once it is durable
         * @description Signed by the scheme of the route: docs/routes.md has an example of each.
         */
        post: operations["postWebhooksRoute"];
        delete?: never;
        /** Ask whether CloudEvents may be sent here, as Azure Event Grid does */
        options: operations["optionsWebhooksRoute"];
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface webhooks {
    output: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * What the target `http` posts to `deliver_extra.url`, once per output
         * @description Signed by Standard Webhooks (standardwebhooks.com) if `targets.http.secret` is set; docs/targets.md shows how to verify it in TypeScript, Python and Go. A retry has the same `webhook-id`.
         */
        post: operations["receiveOutput"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface components {
    schemas: {
        AgentCallback: {
            /** @description why the work failed; for the operator: the user is told only that it failed */
            error?: string;
            /** @description an interim status; the link stays open */
            status?: string;
            /** @description the answer; an empty one or `[SILENT]` is kept but not delivered */
            text?: string;
        };
        Answer: {
            /** @description one of the choices, or any other text; `text` is accepted instead of `answer` */
            answer: string;
        };
        AnswerTaken: {
            /** Format: uuid */
            session_id: string;
        };
        Approval: {
            agent: string;
            /** @description who may decide besides the API; empty: whoever has the link or may speak in the chat */
            approvers: string[];
            /** @description JSON, exactly as the model wrote it: this is what runs if it is approved */
            arguments: string;
            digest: string;
            /** Format: date-time */
            expires_at: string;
            id: string;
            route: string;
            /** Format: uuid */
            session_id: string;
            /** @description the arguments for a person: characters that hide or reverse text are shown as codes */
            shown: components["schemas"]["ShownArguments"];
            title: string;
            tool: string;
        };
        CallbackTaken: {
            /** Format: uuid */
            session_id: string;
        };
        Chat: {
            /** @description null: it is a webhook */
            connection: {
                connected: boolean;
                /** @description why the last try failed */
                error: string | null;
                /** @description whether the replica that answers has the connection */
                leading: boolean;
            } | null;
            enabled: boolean;
            name: string;
            platform: string;
            /** @enum {string} */
            receive: "webhook" | "connection";
            /** @description where the platform sends updates; null: `public_url` is not set, or it is a connection */
            webhook_url: string | null;
        };
        Chats: {
            items: components["schemas"]["Chat"][];
        };
        ChatSetup: {
            /** @description what was done at the platform */
            done: string[];
            /** @description ready to paste there, such as the manifest of a Slack app */
            paste: {
                text: string;
                what: string;
            } | null;
            /** @description what a person has to do there */
            todo: string[];
        };
        /** @description what the platform wants to read: often nothing */
        ChatUpdateTaken: {
            [key: string]: unknown;
        };
        ClosedApproval: {
            /** @description if somebody decided */
            decided: {
                /** Format: date-time */
                at: string;
                /** @description the actor */
                by: string;
                /** @enum {string} */
                decision: "approve" | "deny";
                reason: string | null;
                /** @enum {string} */
                scope: "once" | "session";
            } | null;
            error: string;
            /** @enum {string} */
            reason: "decided" | "expired" | "superseded" | "ended" | "arguments_changed";
        };
        ClosedQuestion: {
            /** @description if somebody answered */
            answered: {
                answer: string;
                /** Format: date-time */
                at: string;
                /** @description the actor: `api`, `link`, or whoever is signed in to the console */
                by: string;
            } | null;
            error: string;
            /** @enum {string} */
            reason: "answered" | "timed_out" | "superseded" | "ended";
        };
        ConsoleLink: {
            /** Format: date-time */
            expires_at: string;
            /** @description signs in the browser that opens it; the code after the `#` reaches no server log */
            url: string;
        };
        ConsoleSession: {
            /** @description as events name whoever uses this session */
            actor: string;
            /** @description for the header `X-Angelia-CSRF` of every call that changes something */
            csrf_token: string;
            /** Format: date-time */
            expires_at: string;
        };
        DeadLetter: {
            /** @description the service that could not process it, or `projection` */
            handler: string;
            id: string;
            reason: string;
            /** Format: date-time */
            recorded_at: string;
            /** @description usually a session */
            stream_id: string;
            /** @description of the event; 0 for a hint of the sweep */
            version: number;
        };
        DeadLetterId: {
            id: string;
        };
        DeadLetterJobFilter: {
            /** @description the service that could not process it, or `projection` */
            handler?: string;
            session?: string;
            /**
             * @description recorded at this time or later
             * @example 2h
             */
            since?: string;
            /**
             * @description recorded before this time
             * @example 2h
             */
            until?: string;
        };
        DeadLetterPage: {
            items: components["schemas"]["DeadLetter"][];
            /** @description pass it as `cursor` to get the next page; null on the last page */
            next_cursor: string | null;
        };
        DecisionTaken: {
            /** Format: uuid */
            session_id: string;
        };
        Delivery: {
            attempts: number;
            /** Format: date-time */
            created_at: string;
            /** @description `<session id>.<version of the output>` */
            id: string;
            /** @enum {string} */
            kind: "interim-status" | "clarification" | "approval" | "final-response";
            /** @description while pending: when it is due, or when the attempt in flight becomes unknown */
            next_attempt_at: string | null;
            /** @description version of the output in its session */
            output: number;
            possible_duplicate: boolean;
            /** @description why the last attempt failed, or why the delivery was dropped */
            reason: string | null;
            /** @description the id that the platform gave the message */
            receipt: string | null;
            /** Format: uuid */
            session_id: string;
            /** @enum {string} */
            status: "pending" | "delivered" | "dead" | "dropped";
            target: string;
            turn: number;
            /** Format: date-time */
            updated_at: string;
            /** @enum {string} */
            via: "target" | "fallback_target";
        };
        DeliveryId: {
            id: string;
            /** Format: uuid */
            session_id: string;
        };
        DeliveryJobFilter: {
            route?: string;
            session?: string;
            /**
             * @description changed at this time or later: ISO 8601, or how long ago: `15m`, `2h`, `7d`
             * @example 2h
             */
            since?: string;
            target?: string;
            /**
             * @description changed before this time
             * @example 2h
             */
            until?: string;
        };
        DeliveryPage: {
            items: components["schemas"]["Delivery"][];
            /** @description pass it as `cursor` to get the next page; null on the last page */
            next_cursor: string | null;
        };
        DeliveryRetryFilter: {
            /** @default 100 */
            limit: number;
            route?: string;
            session?: string;
            /**
             * @description required: only dead deliveries can be retried
             * @constant
             */
            status: "dead";
            target?: string;
        };
        Doctor: {
            /** Format: date-time */
            checked_at: string;
            findings: {
                /** @description stable: `postgres.fsync`, `target.telegram` */
                check: string;
                /** @enum {string} */
                state: "ok" | "warning" | "fault" | "skipped";
                /** @description what to do; warnings and faults have it */
                todo?: string;
                what: string;
            }[];
            /** @description no finding is a fault */
            healthy: boolean;
        };
        Error: {
            /** @description stable; where a program has to tell errors of the same status apart */
            code?: string;
            /** @description what is wrong, where, and what to do */
            error: string;
        };
        Event: {
            data: unknown;
            meta: unknown;
            position: number;
            /** Format: date-time */
            recorded_at: string;
            /** @description more types may be added: ignore types that you do not know */
            type: string;
            version: number;
        };
        EventFeed: string;
        EventList: {
            items: components["schemas"]["Event"][];
        };
        EventStream: string;
        Figure: {
            count: number;
            /** @description false: at least `count` */
            exact: boolean;
            /** @description the call that lists what was counted, such as `/v1/sessions?status=running` */
            list: string;
        };
        Health: {
            /** @description what readiness depends on, with the reason if a check fails */
            checks?: {
                [key: string]: unknown;
            };
            status: string;
        };
        HtmlPage: string;
        HttpTargetBody: {
            /**
             * @description only on an `interim-status` that asks for an approval: the text says how to decide
             * @constant
             */
            approval?: true;
            /**
             * @description only on an `interim-status` that is a question: the text has the link to answer it
             * @constant
             */
            clarification?: true;
            /** @description the same fields again, where libraries of Standard Webhooks look for them */
            data: {
                /**
                 * @description only on an `interim-status` that asks for an approval: the text says how to decide
                 * @constant
                 */
                approval?: true;
                /**
                 * @description only on an `interim-status` that is a question: the text has the link to answer it
                 * @constant
                 */
                clarification?: true;
                /** @description of the webhook that started the session */
                delivery_id: string;
                route: string;
                /** Format: uuid */
                session_id: string;
                /** @description Markdown, whole */
                text: string;
                /** @description of the output in its session; outputs come in this order */
                version: number;
            };
            /** @description of the webhook that started the session */
            delivery_id: string;
            /** @description an earlier attempt may have arrived: look for `webhook-id` among those that you have taken */
            possible_duplicate: boolean;
            route: string;
            /** Format: uuid */
            session_id: string;
            /** @description Markdown, whole */
            text: string;
            /**
             * Format: date-time
             * @description when the output was written; the same on every attempt
             */
            timestamp: string;
            /**
             * @description `interim-status`: more follows. `final-response`: the answer to the turn
             * @enum {string}
             */
            type: "interim-status" | "final-response";
            /** @description of the output in its session; outputs come in this order */
            version: number;
        };
        Job: {
            /** @enum {string} */
            action: "resume" | "cancel" | "retry-deliveries" | "replay-dead-letters" | "erase";
            done: number;
            ended_at: string | null;
            failed: number;
            /** @description the first 20 */
            failures: {
                id: string;
                reason: string;
            }[];
            /** @description times are absolute, and `q` is what it meant */
            filter: {
                [key: string]: unknown;
            };
            /** Format: uuid */
            job_id: string;
            /** @description how many there were when it was requested */
            matches: number;
            matches_exact: boolean;
            /** Format: date-time */
            requested_at: string;
            requested_by: string;
            /** @description nothing had to be done any more, or nothing could be done */
            skipped: number;
            /** @description reasons, and how many of each */
            skips: {
                [key: string]: number;
            };
            started_at: string | null;
            /** @enum {string} */
            status: "queued" | "running" | "cancelling" | "cancelled" | "finished";
            /** Format: date-time */
            updated_at: string;
        };
        JobId: {
            /** Format: uuid */
            job_id: string;
        };
        JobPage: {
            items: components["schemas"]["Job"][];
            /** @description pass it as `cursor` to get the next page; null on the last page */
            next_cursor: string | null;
        };
        Latency: {
            p50_ms: number;
            p95_ms: number;
        };
        Message: {
            content: string;
            /** @enum {string} */
            outcome?: "succeeded" | "failed" | "cancelled" | "expired";
            /** @enum {string} */
            role: "user" | "assistant" | "tool";
            silent?: boolean;
            tool_call_id?: string;
            tool_calls?: {
                arguments: string;
                id: string;
                name: string;
            }[];
            turn?: number;
        };
        NewAnswer: {
            /** @description one of the choices, or any other text */
            answer: string;
            /** @description the question that is meant, as in GET /v1/questions: a later question is not answered by mistake */
            clarification_id: string;
        };
        NewDecision: {
            /** @enum {string} */
            decision: "approve" | "deny";
            /** @description of the arguments that were read: refused if the request has others */
            digest?: string;
            /** @description the model reads it if the call is denied */
            reason?: string;
            /**
             * @description `session`: also later calls of this tool in this session that the same rule asks about
             * @default once
             * @enum {string}
             */
            scope: "once" | "session";
        };
        NewJob: {
            /**
             * @description `replay` is not available yet
             * @enum {string}
             */
            action: "resume" | "cancel" | "retry-deliveries" | "replay-dead-letters" | "erase" | "replay";
            /**
             * @description only count, and show the first ten
             * @default false
             */
            dry_run: boolean;
            /**
             * @description what to do it with: SessionJobFilter, DeliveryJobFilter or DeadLetterJobFilter, by action
             * @default {}
             */
            filter: {
                [key: string]: unknown;
            };
        };
        NewMessage: {
            /**
             * @description at most 4, 4 MiB of base64 in all, within `limits.max_body_bytes`; models with `images: true` see them during this turn, others read a note
             * @default []
             */
            images: {
                /** Format: base64 */
                data: string;
                /** @enum {string} */
                mime_type: "image/png" | "image/jpeg" | "image/gif" | "image/webp";
            }[];
            /**
             * @description this is not the answer to an open question: the question is closed, the turn that asked it is cancelled, and this message runs next
             * @default false
             */
            new_turn: boolean;
            /** @description the answer to the open question, or the next message to the agent */
            text: string;
        };
        NewPairing: {
            /** @description the name of the person or group, which becomes part of the actor of what they do */
            name: string;
        };
        NewRoutePreview: {
            /**
             * @description headers of the webhook, such as `x-github-event`; upper and lower case do not matter
             * @default {}
             */
            headers: {
                [key: string]: string;
            };
            /** @description without `route`: the existing route to preview. With it: what the new route is called */
            name?: string;
            /** @description the body of the webhook: any JSON */
            payload: unknown;
            /** @description the settings, as for PUT; they need not be complete or right */
            route?: {
                [key: string]: unknown;
            };
        };
        NewTestWebhook: {
            /**
             * @description headers of the webhook, such as `x-github-event`; upper and lower case do not matter
             * @default {}
             */
            headers: {
                [key: string]: string;
            };
            /** @description the body of the webhook: any JSON */
            payload: unknown;
        };
        OpenApiDocument: {
            [key: string]: unknown;
        };
        OpenApproval: {
            agent: string;
            /** @description who may decide besides this API; empty: whoever has the link or may speak in the chat */
            approvers: string[];
            /** @description JSON, exactly as the model wrote it: this is what runs if it is approved */
            arguments: string;
            /** Format: date-time */
            asked_at: string;
            call_id: string;
            /** @description SHA-256 of the arguments as canonical JSON */
            digest: string;
            /**
             * Format: date-time
             * @description without a decision by then the call is not carried out
             */
            expires_at: string;
            /** @description `<session id>.<n>` */
            id: string;
            route: string;
            /** @description the rule that asks; an approval for the session is for this rule and tool */
            rule: {
                match: string | null;
                tool: string;
            };
            /** Format: uuid */
            session_id: string;
            /** @description the arguments for a person: characters that hide or reverse text are shown as codes */
            shown: components["schemas"]["ShownArguments"];
            /** @description of the session */
            title: string;
            tool: string;
            turn: number;
        };
        OpenApprovalPage: {
            /** @description only with `count=true` */
            count?: number;
            /** @description false: at least `count` */
            count_exact?: boolean;
            items: components["schemas"]["OpenApproval"][];
            /** @description pass it as `cursor` to get the next page; null on the last page */
            next_cursor: string | null;
        };
        OpenQuestion: {
            agent: string;
            /** Format: date-time */
            asked_at: string;
            /** @description empty: any text is an answer. Otherwise any other text is an answer too */
            choices: string[];
            /** @description names the question within its session */
            clarification_id: string;
            /** Format: date-time */
            deadline: string;
            /**
             * @description what the session does if nobody answers in time
             * @enum {string}
             */
            on_timeout: "end" | "continue";
            question: string;
            route: string;
            /** Format: uuid */
            session_id: string;
            /** @description of the session */
            title: string;
            turn: number;
        };
        OpenQuestionPage: {
            /** @description only with `count=true` */
            count?: number;
            /** @description false: at least `count` */
            count_exact?: boolean;
            items: components["schemas"]["OpenQuestion"][];
            /** @description pass it as `cursor` to get the next page; null on the last page */
            next_cursor: string | null;
        };
        Overview: {
            /**
             * Format: date-time
             * @description when it was computed; at most some seconds ago
             */
            at: string;
            dead_letters: components["schemas"]["Figure"];
            last_hour: {
                dead_deliveries: components["schemas"]["Figure"];
                /** @description sessions that ended as `expired` */
                expired: components["schemas"]["Figure"];
                /** @description sessions that ended as `failed` */
                failed: components["schemas"]["Figure"];
                /** @description of a flood only a few per second are known */
                refused_webhooks: components["schemas"]["Figure"];
            };
            /** @description the last 60, the oldest first; the last one is not over yet */
            minutes: components["schemas"]["OverviewMinute"][];
            /** @description false: so much happened that the older minutes were not counted in full */
            minutes_exact: boolean;
            /** @description sessions that have not ended */
            sessions: {
                queued: components["schemas"]["Figure"];
                running: components["schemas"]["Figure"];
                /** @description for anything */
                waiting: components["schemas"]["Figure"];
                waiting_for: {
                    approval: components["schemas"]["Figure"];
                    model: components["schemas"]["Figure"];
                    person: components["schemas"]["Figure"];
                    process: components["schemas"]["Figure"];
                };
            };
        };
        OverviewMinute: {
            /** @description from the webhook to the delivered answer of its first turn, for those delivered in this minute */
            answered: components["schemas"]["Latency"] | null;
            /** @description sessions */
            created: number;
            /** @description outputs of any kind */
            delivered: number;
            /** @description sessions that ended and are settled, by outcome */
            ended: {
                cancelled: number;
                expired: number;
                failed: number;
                succeeded: number;
            };
            /** @description from the webhook to the first output of the session, for outputs delivered in this minute; null: none */
            first_status: components["schemas"]["Latency"] | null;
            /**
             * Format: date-time
             * @description when it began
             */
            minute: string;
        };
        Pairing: {
            /** @description null: the code has not been used */
            accepted: {
                /** Format: date-time */
                at: string;
                /** @description the platform's id */
                id: string;
                /**
                 * @description a person, or everybody in a group
                 * @enum {string}
                 */
                kind: "user" | "chat";
            } | null;
            /**
             * Format: date-time
             * @description of the code
             */
            expires_at: string;
            id: string;
            name: string;
            /** Format: date-time */
            offered_at: string;
            /** @description the actor who asked for the code */
            offered_by: string;
        };
        PairingCode: {
            /** @description shown this one time; send `/pair` and the code to the bot */
            code: string;
            /** Format: date-time */
            expires_at: string;
            id: string;
            name: string;
        };
        Pairings: {
            items: components["schemas"]["Pairing"][];
        };
        Process: {
            command: string;
            ended_at: string | null;
            exit_code: number | null;
            host: string;
            id: string;
            notify_on_complete: boolean;
            pid: number;
            signal: string | null;
            /** Format: date-time */
            started_at: string;
            /** @enum {string} */
            status: "running" | "exited" | "lost";
            watched: boolean;
        };
        ProcessId: {
            id: string;
            /** Format: uuid */
            session_id: string;
        };
        ProcessOutput: {
            at_end: boolean;
            id: string;
            kept_from: number;
            next_offset: number;
            offset: number;
            output: string;
            /** Format: uuid */
            session_id: string;
            status: string;
        };
        ProcessPage: {
            items: components["schemas"]["SessionProcess"][];
            /** @description pass it as `cursor` to get the next page; null on the last page */
            next_cursor: string | null;
        };
        PutRoute: {
            /** @description false: INSECURE_NO_AUTH */
            authenticated: boolean;
            /** @description with defaults and without secrets; for an unusable route as it was given */
            definition: {
                [key: string]: unknown;
            };
            name: string;
            /** @description where its webhooks go: POST /webhooks/{name} */
            path: string;
            problem: string | null;
            /** @description for a route made by API; also in `ETag`, for `If-Match` */
            revision: number | null;
            /** @description the secret that this call generated because none was given; it is never shown again */
            secret?: string;
            /**
             * @description `config`: from the config file, which wins; no call can change it
             * @enum {string}
             */
            source: "config" | "api";
            /**
             * @description `unusable`: `problem` says why; its webhooks are answered with 503
             * @enum {string}
             */
            status: "active" | "disabled" | "unusable";
            /** @description only with `traffic=true` */
            traffic?: components["schemas"]["RouteTraffic"];
            updated_at: string | null;
        };
        Question: {
            /** @description who asks */
            agent: string;
            /** @description empty: any text is an answer. Otherwise any other text is an answer too */
            choices: string[];
            /** Format: date-time */
            deadline: string;
            question: string;
            route: string;
            /** Format: uuid */
            session_id: string;
            /** @description of the session */
            title: string;
        };
        RefusedConfig: {
            error: string;
            errors: {
                column: number | null;
                /** @description from 1; null if there is no place in the file */
                line: number | null;
                message: string;
                /** @description the key, such as `agents.default.kind`; empty for the whole file */
                path: string;
            }[];
            file: string;
        };
        ReloadedConfig: {
            file: string;
            /** @description empty: the whole file is in force */
            restart_needed: {
                /** @description a changed key that a running service cannot change */
                key: string;
                /** @description the services to restart */
                services: string[];
            }[];
            /**
             * @description `unchanged`: the file is the one that is in force already
             * @enum {string}
             */
            status: "taken" | "unchanged";
        };
        RenderedTarget: {
            target: string;
            to: {
                [key: string]: unknown;
            };
        };
        RequestedJob: {
            /** @description null for a dry run */
            job_id: string | null;
            matches: number;
            /** @description false: at least `matches` */
            matches_exact: boolean;
            /** @description the first 10, in the order in which the job does them */
            sample: (components["schemas"]["Session"] | components["schemas"]["Delivery"] | components["schemas"]["DeadLetter"])[];
        };
        RetriedDeliveries: {
            /** @description true: `limit` left some out; call again */
            more: boolean;
            /** @description deliveries that cannot be sent any more */
            refused: {
                id: string;
                reason: string;
            }[];
            /** @description ids of the deliveries that are pending again */
            retried: string[];
        };
        RotatedSecret: {
            /** @description false: INSECURE_NO_AUTH */
            authenticated: boolean;
            /** @description with defaults and without secrets; for an unusable route as it was given */
            definition: {
                [key: string]: unknown;
            };
            name: string;
            /** @description where its webhooks go: POST /webhooks/{name} */
            path: string;
            problem: string | null;
            /** @description for a route made by API; also in `ETag`, for `If-Match` */
            revision: number | null;
            /** @description the new secret; it is never shown again */
            secret: string;
            /** @description how many senders may use now */
            secrets: number;
            /**
             * @description `config`: from the config file, which wins; no call can change it
             * @enum {string}
             */
            source: "config" | "api";
            /**
             * @description `unusable`: `problem` says why; its webhooks are answered with 503
             * @enum {string}
             */
            status: "active" | "disabled" | "unusable";
            /** @description only with `traffic=true` */
            traffic?: components["schemas"]["RouteTraffic"];
            updated_at: string | null;
        };
        Route: {
            /** @description false: INSECURE_NO_AUTH */
            authenticated: boolean;
            /** @description with defaults and without secrets; for an unusable route as it was given */
            definition: {
                [key: string]: unknown;
            };
            name: string;
            /** @description where its webhooks go: POST /webhooks/{name} */
            path: string;
            problem: string | null;
            /** @description for a route made by API; also in `ETag`, for `If-Match` */
            revision: number | null;
            /**
             * @description `config`: from the config file, which wins; no call can change it
             * @enum {string}
             */
            source: "config" | "api";
            /**
             * @description `unusable`: `problem` says why; its webhooks are answered with 503
             * @enum {string}
             */
            status: "active" | "disabled" | "unusable";
            /** @description only with `traffic=true` */
            traffic?: components["schemas"]["RouteTraffic"];
            updated_at: string | null;
        };
        RouteDefinition: {
            /** @default default */
            agent: string;
            auth?: ("standard-webhooks" | "svix" | "github" | "gitlab" | "stripe" | "slack" | "linear" | "shopify" | "twilio" | "hmac" | "hmac-body" | "bearer" | "basic" | "sentry" | "pagerduty" | "grafana" | "bitbucket" | "zendesk" | "typeform" | "telegram" | "discord") | ({
                /**
                 * @default sha256
                 * @enum {string}
                 */
                algorithm: "sha1" | "sha256" | "sha512";
                /**
                 * @default hex
                 * @enum {string}
                 */
                encoding: "hex" | "base64";
                event_header?: string;
                header: string;
                id_header?: string;
                /** @default  */
                prefix: string;
                /** @constant */
                scheme: "hmac";
                /** @default {body} */
                signed: string;
                timestamp_header?: string;
                /** @default 300 */
                tolerance_seconds: number;
            } | {
                event_header?: string;
                header: string;
                id_header?: string;
                /** @constant */
                scheme: "token";
            });
            coalesce?: {
                key: string;
                /** @default 300 */
                max_wait_seconds: number;
                /** @default 30 */
                window_seconds: number;
            };
            /** @default 600 */
            dedupe_window_seconds: number;
            /** @default log */
            deliver: string;
            /** @default {} */
            deliver_extra: {
                [key: string]: unknown;
            };
            /** @default false */
            deliver_only: boolean;
            delivery_id?: string;
            /** @default true */
            enabled: boolean;
            /** @default [] */
            events: string[];
            fallback_target?: {
                deliver: string;
                /** @default {} */
                deliver_extra: {
                    [key: string]: unknown;
                };
            };
            /** @default [] */
            filters: components["schemas"]["RouteFilter"][];
            /**
             * @default message
             * @enum {string}
             */
            interim: "message" | "edit" | "off";
            max_concurrency?: number;
            max_queue_seconds?: number;
            /** @enum {string} */
            on_busy?: "enqueue" | "coalesce" | "interrupt" | "reject";
            /**
             * @default keep
             * @enum {string}
             */
            on_missing: "keep" | "empty" | "refuse";
            /** @default {__raw__} */
            prompt: string;
            rate_limit?: number;
            retry_on_script_failure?: boolean;
            script?: string;
            secret?: string | string[];
            session_key?: string;
            /** @default [] */
            skills: string[];
            title?: string;
            tools?: {
                approval_expires_seconds?: number;
                approvers?: string[];
                /** @default [] */
                policy: {
                    /** @enum {string} */
                    do: "allow" | "ask" | "deny";
                    match?: string;
                    tool: string;
                }[];
            };
            toolsets?: string[];
        };
        RouteFilter: {
            all?: components["schemas"]["RouteFilter"][];
            any?: components["schemas"]["RouteFilter"][];
            contains?: unknown;
            equals?: unknown;
            exists?: boolean;
            field?: string;
            in?: unknown[];
            in_file?: string;
            missing?: boolean;
            not?: components["schemas"]["RouteFilter"];
            not_equals?: unknown;
            regex?: string;
        };
        RoutePage: {
            items: components["schemas"]["Route"][];
            /** @description pass it as `cursor` to get the next page; null on the last page */
            next_cursor: string | null;
        };
        RoutePreview: {
            deliver: components["schemas"]["RenderedTarget"] | null;
            /** @description by which a repeat is recognised */
            delivery_id: string | null;
            event: string | null;
            fallback_target: components["schemas"]["RenderedTarget"] | null;
            /** @description each judged by itself, also after one that says no */
            filters: {
                /** @description the filter, and the values that it saw */
                detail: string;
                /** @description in `filters` */
                index: number;
                passes: boolean;
            }[];
            /** @description placeholders that the payload has no value for */
            missing: string[];
            /**
             * @description `unusable`: the settings are wrong, and `problems` says where
             * @enum {string}
             */
            outcome: "starts" | "ignored" | "refused" | "unusable";
            problems: {
                message: string;
                /** @description the key of the settings, such as `filters.0.regex` or `prompt` */
                place: string;
            }[];
            /** @description what the agent is told; null: not rendered */
            prompt: string | null;
            /** @description why it would start nothing */
            reason: string | null;
            /** @description `not_run`: the route has a script, which may still change or ignore the payload */
            script: "not_run" | null;
            session_key: string | null;
            title: string | null;
            /** @description whether `events` names the event; null: not judged */
            wants_event: boolean | null;
        };
        RouteTraffic: {
            /** @description false: `sessions` and `failed` are lower bounds */
            exact: boolean;
            /** @description of these: ended as `failed` or `expired` */
            failed: number;
            /** @description when its last session was created */
            last_session_at: string | null;
            /** @description the last webhook that came, whether it started a session or not */
            last_webhook_at: string | null;
            /** @description created in the last 24 hours */
            sessions: number;
        };
        SecretRotation: {
            /**
             * @description senders may also use the previous secret, until the next rotation
             * @default true
             */
            keep_previous: boolean;
        };
        Session: {
            agent: string;
            /**
             * @description only if the last answer was cut at the model's limit
             * @constant
             */
            answer_cut?: true;
            /** @description only while a request for approval is open */
            approval?: {
                /** Format: date-time */
                expires_at: string;
                id: string;
                tool: string;
            };
            /** @description only while a question is open */
            clarification?: {
                /** Format: date-time */
                deadline: string;
                id: string;
            };
            /**
             * Format: uuid
             * @description only on a continuation: the session that it continues
             */
            continues?: string;
            /** Format: date-time */
            created_at: string;
            deliver: {
                target: string;
                to: {
                    [key: string]: unknown;
                };
            };
            /** @description if the session has ended and nothing is pending, it is settled */
            deliveries: {
                dead: number;
                delivered: number;
                dropped: number;
                pending: number;
            };
            delivery_id: string;
            /** @description `webhook_complete` if a webhook started it */
            end_reason: string | null;
            ended_at: string | null;
            event: string | null;
            /** @description why the last turn failed or expired, or why it waits for a model */
            failure: {
                code: string;
                /** @description for the operator, shortened */
                message: string;
            } | null;
            /** @description how many runs were started */
            generation: number;
            /** Format: uuid */
            id: string;
            /** Format: date-time */
            last_activity_at: string;
            model: string | null;
            outcome: ("succeeded" | "failed" | "cancelled" | "expired") | null;
            processes: components["schemas"]["Process"][];
            /** @description only while it waits for a model: when it tries again */
            retry_at: string | null;
            route: string;
            /** @enum {string} */
            status: "queued" | "running" | "waiting" | "ended";
            title: string;
            trace_id: string | null;
            usage: {
                input_tokens: number;
                output_tokens: number;
            };
            /** @description version of the last event */
            version: number;
            /** @description only while the status is `waiting`; more values may be added */
            waiting_for: ("person" | "approval" | "model" | "process") | null;
        };
        SessionId: {
            /** Format: uuid */
            session_id: string;
        };
        SessionJobFilter: {
            agent?: string;
            /** @description the whole delivery id */
            delivery_id?: string;
            /**
             * @description ended at this time or later
             * @example 2h
             */
            ended_since?: string;
            /** @description the code of the failure, as in `failure.code` */
            failure?: string;
            /** @description the model that answered last */
            model?: string;
            /**
             * @description how it ended
             * @enum {string}
             */
            outcome?: "succeeded" | "failed" | "cancelled" | "expired";
            /** @description the beginning of an id (8 characters or more), else a whole delivery id, else a part of the title; the first of these that some session has */
            q?: string;
            route?: string;
            /**
             * @description created at this time or later: ISO 8601, or how long ago: `15m`, `2h`, `7d`
             * @example 2h
             */
            since?: string;
            /** @enum {string} */
            status?: "queued" | "running" | "waiting" | "ended";
            /** @description a part of the title, in upper or lower case */
            title?: string;
            /**
             * @description created before this time
             * @example 2h
             */
            until?: string;
            /**
             * @description only sessions that wait for this
             * @enum {string}
             */
            waiting_for?: "person" | "approval" | "model" | "process";
        };
        SessionPage: {
            /** @description only with `count=true` */
            count?: number;
            /** @description false: at least `count` */
            count_exact?: boolean;
            items: components["schemas"]["Session"][];
            /** @description pass it as `cursor` to get the next page; null on the last page */
            next_cursor: string | null;
        };
        SessionProcess: {
            command: string;
            ended_at: string | null;
            exit_code: number | null;
            host: string;
            id: string;
            notify_on_complete: boolean;
            pid: number;
            /** Format: uuid */
            session_id: string;
            signal: string | null;
            /** Format: date-time */
            started_at: string;
            /** @enum {string} */
            status: "running" | "exited" | "lost";
            watched: boolean;
        };
        ShownArguments: {
            /** @description the command line of `terminal`; null: the tool has none */
            command: string | null;
            /** @description the other arguments as canonical JSON; null: there are none */
            others: string | null;
        };
        SignIn: {
            /** @description of a link: what follows the `#` */
            code?: string;
            /** @description the admin token */
            token?: string;
        };
        System: {
            /**
             * Format: date-time
             * @description when it was read; at most some seconds ago
             */
            at: string;
            /** @description of the ingress that answers */
            config: {
                file: string;
                /**
                 * @description `last_good`: the file is wrong, and the config before it stays in force
                 * @enum {string}
                 */
                in_force: "file" | "last_good";
                /** @description what is wrong with the file */
                problems: string[];
                /** @description changed keys that need a restart of this ingress */
                restart_needed: string[];
                /** @description with defaults; secrets are `[redacted]` */
                values: {
                    [key: string]: unknown;
                };
            };
            /** @description `jaeger_url` of the config: a trace is at `/trace/{trace_id}` */
            jaeger_url: string | null;
            /** @description how far the readers of the log are behind */
            lag: {
                /** @description age of the oldest event that was not hinted yet */
                relay_ms: number;
                /** @description age of the oldest event that an open transaction hides */
                tail_ms: number;
                /** @description age of the oldest event that lists do not show yet */
                views_ms: number;
            };
            leaders: {
                instance: string;
                /** @description a loop that one process leads for all */
                name: string;
            }[];
            migrations: {
                /** @description number of the last one */
                applied: number;
                /** @description by the ingress that answers */
                needed: number;
            };
            /** @description models that sessions wait for right now */
            models_down: {
                /** @description of the failure */
                code: string;
                /** @description the call that lists them */
                list: string;
                model: string;
                /** @enum {string} */
                reason: "unavailable" | "configuration";
                /** @description how many wait for it */
                sessions: number;
            }[];
            /** @description every replica that was seen in the last hour, by name; one that stopped in order is left out */
            services: {
                /** @description the stable name of the replica */
                instance: string;
                /** @description the loops that it leads for all */
                leads: string[];
                /** Format: date-time */
                seen_at: string;
                /** @description `ingress`, `agent-runner`, `delivery` or `process-watcher` */
                service: string;
                /**
                 * @description `lost`: it did not say that it stops, and was not seen for a while
                 * @enum {string}
                 */
                status: "alive" | "lost";
                version: string;
            }[];
            /** @description targets that the last attempt of some pending delivery failed at */
            targets_down: {
                /** @description how many were tried and will be tried again */
                deliveries: number;
                /** @description false: at least `deliveries` */
                exact: boolean;
                /** @description the call that lists them */
                list: string;
                next_attempt_at: string | null;
                /** @description why the latest attempt failed */
                reason: string | null;
                target: string;
            }[];
            /** @description of the ingress that answers */
            version: string;
            views: {
                /** @description if it is higher, the views are being rebuilt */
                needed: number;
                version: number;
            };
        };
        TestWebhook: {
            delivery_id: string | null;
            /** @description the same as a sentence */
            detail: string | null;
            event: string | null;
            /** @description what a sender would be answered */
            http_status: number;
            /** @description a stable code: why it started nothing */
            reason: string | null;
            session_id: string | null;
            /** @enum {string} */
            status: "accepted" | "coalesced" | "duplicate" | "ignored" | "handshake" | "refused";
        };
        Transcript: {
            messages: components["schemas"]["Message"][];
        };
        UnstartedWebhook: {
            delivery_id: string | null;
            /** @description why exactly: the header that is missing, how far the timestamp is off, the filter with the value that it saw */
            detail: string | null;
            event: string | null;
            /** @enum {string} */
            outcome: "ignored" | "duplicate" | "handshake" | "unauthorized" | "rate_limited" | "bad_request" | "busy" | "disabled" | "unknown_route" | "unavailable" | "crowded_out" | "error";
            /** @description a stable code: `event`, `filter` or `script` for an ignored webhook, else the rule that refused it */
            reason: string;
            /** Format: date-time */
            received_at: string;
            /** @description the name in the URL, if there is no such route */
            requested_route: string | null;
            /** @description null: the URL named no route */
            route: string | null;
            /** @description for a duplicate: the session that the first delivery started */
            session_id: string | null;
            /** @description the address of the sender */
            source: string | null;
            /** @description of the HTTP answer */
            status: number;
        };
        UnstartedWebhookCount: {
            count: number;
            /** Format: date-time */
            first_at: string;
            /** Format: date-time */
            last_at: string;
            /** @enum {string} */
            outcome: "ignored" | "duplicate" | "handshake" | "unauthorized" | "rate_limited" | "bad_request" | "busy" | "disabled" | "unknown_route" | "unavailable" | "crowded_out" | "error";
            /** @description a stable code: `event`, `filter` or `script` for an ignored webhook, else the rule that refused it */
            reason: string;
            /** @description null: the URL named no route */
            route: string | null;
        };
        UnstartedWebhookCounts: {
            items: components["schemas"]["UnstartedWebhookCount"][];
        };
        UnstartedWebhooks: {
            items: components["schemas"]["UnstartedWebhook"][];
        };
        WebhookAccepted: {
            delivery_id: string;
            event: string | null;
            route: string;
            /** Format: uuid */
            session_id: string;
            /** @enum {string} */
            status: "accepted" | "coalesced";
        } | components["schemas"]["WebhookBatch"];
        WebhookBatch: {
            /** @description for each event of a batch of CloudEvents, in order: what it would get alone, or `refused` */
            items: {
                [key: string]: unknown;
            }[];
            route: string;
            /** @constant */
            status: "batch";
        };
        WebhookNotStarted: {
            delivery_id: string;
            /** Format: uuid */
            session_id: string;
            /** @constant */
            status: "duplicate";
        } | {
            /** @enum {string} */
            reason: "event" | "filter" | "script";
            route: string;
            /** @constant */
            status: "ignored";
        } | components["schemas"]["WebhookBatch"] | {
            [key: string]: unknown;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    getAnswersToken: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description signed; as it was delivered with the question */
                token: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the question is open */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Question"];
                    "text/html": components["schemas"]["HtmlPage"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                    "text/html": components["schemas"]["HtmlPage"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                    "text/html": components["schemas"]["HtmlPage"];
                };
            };
            /** @description Gone */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                    "text/html": components["schemas"]["HtmlPage"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                    "text/html": components["schemas"]["HtmlPage"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                    "text/html": components["schemas"]["HtmlPage"];
                };
            };
        };
    };
    postAnswersToken: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description signed; as it was delivered with the question */
                token: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Answer"];
                "application/x-www-form-urlencoded": components["schemas"]["Answer"];
            };
        };
        responses: {
            /** @description taken and durable */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnswerTaken"];
                    "text/html": components["schemas"]["HtmlPage"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                    "text/html": components["schemas"]["HtmlPage"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                    "text/html": components["schemas"]["HtmlPage"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                    "text/html": components["schemas"]["HtmlPage"];
                };
            };
            /** @description Gone */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                    "text/html": components["schemas"]["HtmlPage"];
                };
            };
            /** @description Payload Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                    "text/html": components["schemas"]["HtmlPage"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                    "text/html": components["schemas"]["HtmlPage"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                    "text/html": components["schemas"]["HtmlPage"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                    "text/html": components["schemas"]["HtmlPage"];
                };
            };
        };
    };
    getApprovalsToken: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description signed; as it was delivered with the request */
                token: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the request is open */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Approval"];
                    "text/html": components["schemas"]["HtmlPage"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                    "text/html": components["schemas"]["HtmlPage"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                    "text/html": components["schemas"]["HtmlPage"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                    "text/html": components["schemas"]["HtmlPage"];
                };
            };
            /** @description Gone */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                    "text/html": components["schemas"]["HtmlPage"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                    "text/html": components["schemas"]["HtmlPage"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                    "text/html": components["schemas"]["HtmlPage"];
                };
            };
        };
    };
    postApprovalsToken: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description signed; as it was delivered with the request */
                token: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewDecision"];
                "application/x-www-form-urlencoded": components["schemas"]["NewDecision"];
            };
        };
        responses: {
            /** @description taken and durable */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DecisionTaken"];
                    "text/html": components["schemas"]["HtmlPage"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                    "text/html": components["schemas"]["HtmlPage"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                    "text/html": components["schemas"]["HtmlPage"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                    "text/html": components["schemas"]["HtmlPage"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                    "text/html": components["schemas"]["HtmlPage"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                    "text/html": components["schemas"]["HtmlPage"];
                };
            };
            /** @description Gone */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                    "text/html": components["schemas"]["HtmlPage"];
                };
            };
            /** @description Payload Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                    "text/html": components["schemas"]["HtmlPage"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                    "text/html": components["schemas"]["HtmlPage"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                    "text/html": components["schemas"]["HtmlPage"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                    "text/html": components["schemas"]["HtmlPage"];
                };
            };
        };
    };
    postCallbacksToken: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description signed; part of the `callback_url` */
                token: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AgentCallback"];
            };
        };
        responses: {
            /** @description taken and durable */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CallbackTaken"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Gone */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Payload Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postChatsPlatformName: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description name of the chat in the config */
                name: string;
                /** @description name of the platform, such as `telegram` */
                platform: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/cloudevents-batch+json": unknown;
                "application/cloudevents+json": unknown;
                "application/json": unknown;
                "application/x-www-form-urlencoded": unknown;
            };
        };
        responses: {
            /** @description taken, taken before, or of no interest */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChatUpdateTaken"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Payload Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getConsole: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": components["schemas"]["HtmlPage"];
                };
            };
            /** @description the console is not built */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": components["schemas"]["HtmlPage"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getConsoleSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description signed in */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConsoleSession"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postConsoleSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SignIn"];
            };
        };
        responses: {
            /** @description signed in */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConsoleSession"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Payload Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteConsoleSession: {
        parameters: {
            query?: never;
            header?: {
                /** @description `csrf_token` of the session */
                "X-Angelia-CSRF"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description signed out */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Payload Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description alive */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getHealthz: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description alive */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getOpenapiJson: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OpenAPI 3.1 */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenApiDocument"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getReadyz: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description ready */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description not ready, with the reason */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getApprovals: {
        parameters: {
            query?: {
                /** @description also count the open requests */
                count?: "true" | "false";
                /** @description opaque: `next_cursor` of the previous page */
                cursor?: string;
                /** @description how many, up to 200; 50 if left out */
                limit?: number;
                route?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description a page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenApprovalPage"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postApprovalsId: {
        parameters: {
            query?: never;
            header?: {
                /** @description a repeat with the same key is taken once and gets the same answer */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description of the request, as in GET /v1/approvals */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewDecision"];
            };
        };
        responses: {
            /** @description the session continues */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionId"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description the request is closed */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClosedApproval"];
                };
            };
            /** @description Payload Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getChats: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description all chats */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Chats"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getChatsNamePairings: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description name of the chat in the config */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description without those that were revoked or have expired */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Pairings"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postChatsNamePairings: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description name of the chat in the config */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewPairing"];
            };
        };
        responses: {
            /** @description the code, which lasts for ten minutes */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PairingCode"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Payload Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteChatsNamePairingsId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description id of the pairing */
                id: string;
                /** @description name of the chat in the config */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description within two seconds, it may no longer speak */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Payload Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postChatsNameSetup: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description name of the chat in the config */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description what was done, and what is left to do */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChatSetup"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Payload Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postConfigReload: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file is in force */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReloadedConfig"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Payload Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The file is wrong, and the last good config stays in force */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RefusedConfig"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postConsoleLinks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description made */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConsoleLink"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Payload Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getDeadLetters: {
        parameters: {
            query?: {
                cursor?: string;
                /** @description how many, up to 200; 50 if left out */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description a page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeadLetterPage"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postDeadLettersIdReplay: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description as in GET /v1/dead-letters */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the replay is requested */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeadLetterId"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Payload Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getDeliveries: {
        parameters: {
            query?: {
                /** @description opaque: `next_cursor` of the previous page */
                cursor?: string;
                /** @description how many, up to 200; 50 if left out */
                limit?: number;
                route?: string;
                session?: string;
                /** @description changed at this time or later: ISO 8601, or how long ago: `15m`, `2h`, `7d` */
                since?: string;
                status?: "pending" | "delivered" | "dead" | "dropped";
                target?: string;
                /** @description changed before this time */
                until?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description a page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryPage"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postDeliveriesIdRetry: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description `<session id>.<version of the output>` */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description it is pending */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryId"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Payload Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postDeliveriesRetry: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeliveryRetryFilter"];
            };
        };
        responses: {
            /** @description the deliveries that are pending again */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RetriedDeliveries"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Payload Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getDoctor: {
        parameters: {
            query?: {
                /** @description also call targets, models and MCP servers; needs an ingress that may reach them */
                calls?: "true" | "false";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the findings */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Doctor"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getEvents: {
        parameters: {
            query?: {
                /** @description only events of sessions of this route */
                route?: string;
                /** @description only events of these types, separated by commas; `delivery.` means all that begin with it */
                type?: string;
            };
            header?: {
                /** @description the `id` of the last event that was seen: the feed continues after it */
                "Last-Event-ID"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description server-sent events: `id` is a place in the log, `data` is one event as JSON, as in /v1/sessions/{id}/events, with `stream_id` and `session_id` (null for events of routes, keys and jobs). The feed does not end. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["EventFeed"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getJobs: {
        parameters: {
            query?: {
                cursor?: string;
                /** @description the beginning of an id */
                id?: string;
                /** @description how many, up to 200; 50 if left out */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description a page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobPage"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postJobs: {
        parameters: {
            query?: never;
            header?: {
                /** @description a repeat with the same key returns the same job */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewJob"];
            };
        };
        responses: {
            /** @description the dry run */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RequestedJob"];
                };
            };
            /** @description the job is requested */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RequestedJob"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Payload Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getJobsId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the id of the job */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the job */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postJobsIdCancel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the id of the job */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description it stops */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobId"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Payload Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getOverview: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the figures */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Overview"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getProcesses: {
        parameters: {
            query?: {
                /** @description opaque: `next_cursor` of the previous page */
                cursor?: string;
                /** @description the beginning of an id */
                id?: string;
                /** @description how many, up to 200; 50 if left out */
                limit?: number;
                session?: string;
                status?: "running" | "exited" | "lost";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description a page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProcessPage"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postProcessesIdKill: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description as in the list */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description it is being killed */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProcessId"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Payload Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getProcessesIdOutput: {
        parameters: {
            query?: {
                /** @description how many, up to 131072; 65536 if left out */
                bytes?: number;
                /** @description start at this byte: `next_offset` of the previous part; the last bytes if left out */
                offset?: number;
            };
            header?: never;
            path: {
                /** @description as in the list */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description a part of it */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProcessOutput"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getQuestions: {
        parameters: {
            query?: {
                /** @description also count the open questions */
                count?: "true" | "false";
                /** @description opaque: `next_cursor` of the previous page */
                cursor?: string;
                /** @description how many, up to 200; 50 if left out */
                limit?: number;
                route?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description a page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenQuestionPage"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getRoutes: {
        parameters: {
            query?: {
                /** @description opaque: `next_cursor` of the previous page */
                cursor?: string;
                /** @description how many, up to 200; 50 if left out */
                limit?: number;
                /** @description also say what the route did in the last 24 hours */
                traffic?: "true" | "false";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description a page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RoutePage"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getRoutesName: {
        parameters: {
            query?: {
                /** @description also say what the route did in the last 24 hours */
                traffic?: "true" | "false";
            };
            header?: never;
            path: {
                /** @description name of the route: lower-case letters, digits, - and _ */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the route */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Route"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    putRoutesName: {
        parameters: {
            query?: never;
            header?: {
                /** @description the `ETag` that was seen: 412 if the route has changed since */
                "If-Match"?: string;
                /** @description `*`: only if the route does not exist yet, else 412 */
                "If-None-Match"?: string;
            };
            path: {
                /** @description name of the route: lower-case letters, digits, - and _ */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RouteDefinition"];
            };
        };
        responses: {
            /** @description it existed; changed if it differed */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PutRoute"];
                };
            };
            /** @description it was created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PutRoute"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Precondition Failed */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Payload Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteRoutesName: {
        parameters: {
            query?: never;
            header?: {
                /** @description the `ETag` that was seen: 412 if the route has changed since */
                "If-Match"?: string;
            };
            path: {
                /** @description name of the route: lower-case letters, digits, - and _ */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description it is deleted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Precondition Failed */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Payload Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postRoutesNameRotateSecret: {
        parameters: {
            query?: never;
            header?: {
                /** @description the `ETag` that was seen: 412 if the route has changed since */
                "If-Match"?: string;
            };
            path: {
                /** @description name of the route: lower-case letters, digits, - and _ */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["SecretRotation"];
            };
        };
        responses: {
            /** @description the new secret */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RotatedSecret"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Precondition Failed */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Payload Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postRoutesNameTest: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description name of the route: lower-case letters, digits, - and _ */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewTestWebhook"];
            };
        };
        responses: {
            /** @description what became of it */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TestWebhook"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Payload Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postRoutesPreview: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewRoutePreview"];
            };
        };
        responses: {
            /** @description the preview */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RoutePreview"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Payload Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getSessions: {
        parameters: {
            query?: {
                agent?: string;
                /** @description only the continuations of this session */
                continues?: string;
                /** @description also count the sessions that fit */
                count?: "true" | "false";
                /** @description opaque: `next_cursor` of the previous page */
                cursor?: string;
                /** @description the whole delivery id */
                delivery_id?: string;
                /** @description ended at this time or later */
                ended_since?: string;
                /** @description the code of the failure, as in `failure.code` */
                failure?: string;
                /** @description the beginning of an id */
                id?: string;
                /** @description how many, up to 200; 50 if left out */
                limit?: number;
                /** @description the model that answered last */
                model?: string;
                /** @description how it ended */
                outcome?: "succeeded" | "failed" | "cancelled" | "expired";
                /** @description the beginning of an id (8 characters or more), else a whole delivery id, else a part of the title; the first of these that some session has */
                q?: string;
                route?: string;
                /** @description created at this time or later: ISO 8601, or how long ago: `15m`, `2h`, `7d` */
                since?: string;
                /** @description `active`, `longest` and `tokens` give one page, and need a filter that matches few sessions */
                sort?: "newest" | "oldest" | "active" | "longest" | "tokens";
                status?: "queued" | "running" | "waiting" | "ended";
                /** @description a part of the title, in upper or lower case */
                title?: string;
                /** @description created before this time */
                until?: string;
                /** @description only sessions that wait for this */
                waiting_for?: "person" | "approval" | "model" | "process";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description a page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionPage"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getSessionsId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the whole id of the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the session */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteSessionsId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the whole id of the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description erased */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionId"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Payload Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postSessionsIdAnswers: {
        parameters: {
            query?: never;
            header?: {
                /** @description a repeat with the same key is taken once and gets the same answer */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description the whole id of the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewAnswer"];
            };
        };
        responses: {
            /** @description the session continues with the answer */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionId"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description the question is closed */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClosedQuestion"];
                };
            };
            /** @description Payload Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postSessionsIdCancel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the whole id of the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description cancelled */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionId"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Payload Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getSessionsIdEvents: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the whole id of the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description all events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventList"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postSessionsIdMessages: {
        parameters: {
            query?: never;
            header?: {
                /** @description a POST that is repeated with the same key is taken once and gets the same answer */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description the whole id of the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewMessage"];
            };
        };
        responses: {
            /** @description taken by this session */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionId"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Payload Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postSessionsIdResume: {
        parameters: {
            query?: never;
            header?: {
                /** @description a POST that is repeated with the same key is taken once and gets the same answer */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description the whole id of the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the continuation */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionId"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Payload Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getSessionsIdStream: {
        parameters: {
            query?: never;
            header?: {
                /** @description the version of the last event that was seen: the stream continues after it */
                "Last-Event-ID"?: string;
            };
            path: {
                /** @description the whole id of the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description server-sent events: `id` is the version, `data` is one event as JSON. Stored events come first, then new ones as they happen. The stream ends when the session is settled. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["EventStream"];
                };
            };
            /** @description the session is settled and has no event after Last-Event-ID: do not reconnect */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getSessionsIdTranscript: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the whole id of the session */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description all messages */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Transcript"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getSystem: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the system */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["System"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getWebhooks: {
        parameters: {
            query?: {
                /** @description how many, up to 200; 50 if left out */
                limit?: number;
                outcome?: "ignored" | "duplicate" | "handshake" | "unauthorized" | "rate_limited" | "bad_request" | "busy" | "disabled" | "unknown_route" | "unavailable" | "crowded_out" | "error";
                /** @description only those that were refused: neither ignored, nor a duplicate, nor a handshake */
                refused?: "true";
                /** @description webhooks of this route; webhooks of no route have outcome `unknown_route` */
                route?: string;
                /** @description received at this time or later: ISO 8601, or how long ago: `15m`, `2h`, `7d` */
                since?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the webhooks that are kept */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UnstartedWebhooks"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getWebhooksCounts: {
        parameters: {
            query?: {
                outcome?: "ignored" | "duplicate" | "handshake" | "unauthorized" | "rate_limited" | "bad_request" | "busy" | "disabled" | "unknown_route" | "unavailable" | "crowded_out" | "error";
                /** @description webhooks of this route; webhooks of no route have outcome `unknown_route` */
                route?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the latest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UnstartedWebhookCounts"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postWebhooksRoute: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description name of the route */
                route: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/cloudevents-batch+json": unknown;
                "application/cloudevents+json": unknown;
                "application/json": unknown;
                "application/x-www-form-urlencoded": unknown;
            };
        };
        responses: {
            /** @description taken before, ignored, or a handshake */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookNotStarted"];
                };
            };
            /** @description accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookAccepted"];
                };
            };
            /** @description a handshake without an answer, for example Discord's PING of webhook events */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Payload Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    optionsWebhooksRoute: {
        parameters: {
            query?: never;
            header?: {
                /** @description the host name of the sender */
                "WebHook-Request-Origin"?: string;
                /** @description how many requests a minute it wants to send */
                "WebHook-Request-Rate"?: string;
            };
            path: {
                /** @description name of the route */
                route: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description yes: see Allow, WebHook-Allowed-Origin and WebHook-Allowed-Rate */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Method Not Allowed */
            405: {
                headers: {
                    /** @description the methods of this address */
                    Allow?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Payload Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    /** @description seconds */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description any other error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    receiveOutput: {
        parameters: {
            query?: never;
            header: {
                /** @description `angelia`, unless `targets.http.headers` or the route sets another */
                "user-agent": string;
                /** @description the same on every attempt; names the output */
                "webhook-id": string;
                /** @description `v1,<base64>`, one or two, separated by a space; only with a secret */
                "webhook-signature"?: string;
                /** @description Unix seconds of this attempt */
                "webhook-timestamp": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["HttpTargetBody"];
            };
        };
        responses: {
            /** @description taken */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description refused: the delivery is dead, except 408, 409, 425 and 429, which are tried again */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description tried again, by `delivery.retry_schedule_seconds` or `Retry-After` */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
}
