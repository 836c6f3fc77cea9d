export { type ButtonName, type ButtonPress, buttonData, readButtonData } from './button-data.ts';
export { clickProof, isClickProof } from './click-proof.ts';
export { codeBlock } from './code-block.ts';
export { contentIs, fileTypeOf, imageTypeOf, isImageType, isTextType, textOf } from './file-type.ts';
export { type ChatPlatformName, chatPlatforms, type MessagePlace } from './place.ts';
export { messageKey, receiptKeys, threadKey } from './receipt-keys.ts';
