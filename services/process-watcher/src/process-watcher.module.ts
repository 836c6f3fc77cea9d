import { Module } from '@nestjs/common';
import { HintsController } from './hints.controller.ts';

/** The only place where commands run. */
@Module({ controllers: [HintsController] })
export class ProcessWatcherModule {}
