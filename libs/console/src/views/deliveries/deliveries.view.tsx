import { Page } from '../../app/shell/page.tsx';
import { useUrlFilters } from '../../app/url-filters.ts';
import { Tabs } from '../../parts/controls/tabs.tsx';
import { JobDialog } from '../../parts/jobs/job-dialog.tsx';
import { DeadLetters } from './dead-letters.tsx';
import { DeliveryList } from './delivery-list.tsx';

const TABS = [
  { name: 'deliveries', label: 'Deliveries' },
  { name: 'dead-letters', label: 'Dead letters' },
] as const;

/** What was sent where, what could not be sent, and events that no service could process. */
export function DeliveriesView() {
  const [{ tab, job }, set] = useUrlFilters(['tab', 'job']);
  const current = tab === 'dead-letters' ? 'dead-letters' : 'deliveries';
  return (
    <Page title="Deliveries">
      <Tabs
        label="Deliveries and dead letters"
        tabs={TABS}
        current={current}
        onChange={(name) => set({ tab: name === 'deliveries' ? undefined : name })}
      >
        {current === 'deliveries' ? (
          <DeliveryList onJob={(id) => set({ job: id })} />
        ) : (
          <DeadLetters onJob={(id) => set({ job: id })} />
        )}
      </Tabs>
      {job !== undefined && <JobDialog id={job} onClose={() => set({ job: undefined })} />}
    </Page>
  );
}
