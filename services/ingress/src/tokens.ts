/** RouteTable of all routes: of the config file and made by API. */
export const ROUTES = Symbol('ROUTES');
/** AnswerLinks, or null without a master key. */
export const ANSWER_LINKS = Symbol('ANSWER_LINKS');
/** CallbackLinks, or null without a master key. */
export const CALLBACK_LINKS = Symbol('CALLBACK_LINKS');
/** WayIn[]: how a caller of /v1 can prove who it is. The first that knows something of the request decides. */
export const WAYS_IN = Symbol('WAYS_IN');
