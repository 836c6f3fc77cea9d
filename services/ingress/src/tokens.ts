/** RouteTable of all routes: of the config file and made by API. */
export const ROUTES = Symbol('ROUTES');
/** AnswerLinks, or null without a master key. */
export const ANSWER_LINKS = Symbol('ANSWER_LINKS');
/** CallbackLinks, or null without a master key. */
export const CALLBACK_LINKS = Symbol('CALLBACK_LINKS');
