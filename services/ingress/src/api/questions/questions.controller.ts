import { Controller, Get, Post, UseGuards } from '@nestjs/common';
import { AdminTokenGuard } from '../../access/admin-token.guard.ts';
import { Refusal } from '../../http/refusal.ts';

@Controller('/v1')
@UseGuards(AdminTokenGuard)
export class QuestionsController {
  @Get('/questions')
  list(): never {
    throw new Refusal(501, 'not_available', 'not available yet');
  }

  @Post('/sessions/:id/answers')
  answer(): never {
    throw new Refusal(501, 'not_available', 'not available yet');
  }
}
