import { Controller, Get, UseGuards } from '@nestjs/common';
import { AdminTokenGuard } from '../../access/admin-token.guard.ts';
import { Refusal } from '../../http/refusal.ts';

@Controller('/v1')
@UseGuards(AdminTokenGuard)
export class SystemController {
  @Get('/system')
  system(): never {
    throw new Refusal(501, 'not_available', 'not available yet');
  }

  @Get('/doctor')
  doctor(): never {
    throw new Refusal(501, 'not_available', 'not available yet');
  }
}
