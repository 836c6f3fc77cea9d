import { Controller, Get, UseGuards } from '@nestjs/common';
import { AdminTokenGuard } from '../../access/admin-token.guard.ts';
import { Refusal } from '../../http/refusal.ts';

@Controller('/v1/overview')
@UseGuards(AdminTokenGuard)
export class OverviewController {
  @Get()
  show(): never {
    throw new Refusal(501, 'not_available', 'not available yet');
  }
}
